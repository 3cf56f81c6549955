"""When the answers say that it is us, the run pauses for a person and nobody pays for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from campaigns import chunk, control, engine, reports, sending, settling
from campaigns.judging import Final
from campaigns.ledger import Delivery, Retry, Window
from campaigns.left import left_to_send
from campaigns.reasons import Cause, Reason
from campaigns.run import Run
from notifications.audit import AuditEntry
from notifications.device import Device
from notifications.project import Project
from tests.builders import addresses, make_people, make_run
from tests.by_hand import let_leases_lapse, work
from tests.fcm import Fcm
from tests.forgetting import flush


def test_a_key_of_another_project_stops_the_run_within_one_trial_window(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(foreign=1_500))

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "other_project")
    assert "100 of 100" in run.cause_detail
    assert fcm.counts()["requests"] == sending.TRIAL
    assert reports.totals_of(run).waiting == 1_500, "nobody pays for our wrong key"
    assert not Device.objects.filter(retired_at__isnull=False).exists()


def test_once_the_key_is_right_everybody_of_a_stopped_run_is_sent_to(
    project: Project, fcm: Fcm
) -> None:
    people = make_people(project, addresses(foreign=150))
    run = work(make_run(project))
    for device in people:
        device.address = f"live{device.pk}:APA91b"
    Device.objects.bulk_update(people, ["address"])

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    assert reports.totals_of(run).accepted == 150


def test_a_few_foreign_addresses_among_many_are_refused_alone(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(live=1_200, foreign=11))

    run = work(make_run(project))

    assert run.state == "finished"
    assert reports.reasons_of(run) == {"other_project": 11}


def test_foreign_addresses_spread_thinly_are_found_in_the_rows(project: Project, fcm: Fcm) -> None:
    make_people(project, [a for n in range(40) for a in (f"foreign-{n}:x", *[""] * 60)])

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "other_project")


def test_a_text_that_fcm_refuses_for_everybody_stops_after_a_hundred(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 300)
    run = make_run(project)
    Run.objects.update(content={**run.content, "body": "too long " * 600})

    run = work(run)

    assert (run.state, run.cause) == ("paused", "refused_message")
    assert fcm.counts()["requests"] == 0
    assert reports.totals_of(run).waiting == 300


def retired() -> int:
    return Device.objects.filter(retired_at__isnull=False).count()


def test_a_third_of_dead_addresses_stops_the_run_before_it_costs_a_device(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(dead=600, live=1_400))

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "dead_addresses")
    assert run.cause_detail == "300 of 1,000 addresses. No device was retired."
    assert retired() == 0
    assert reports.totals_of(run).waiting > 1_000
    assert reports.reasons_of(run)["unregistered"] >= 300, "FCM's word stands in the rows"


def test_an_old_list_is_sent_to_and_keeps_its_devices(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=280, live=820))

    run = work(make_run(project))

    assert (run.state, run.accepted, run.rejected) == ("finished", 820, 280)
    assert retired() == 0, "beyond 5 % of a chunk only a person decides"


def test_the_usual_few_dead_addresses_are_retired(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=40, live=960))

    assert work(make_run(project)).state == "finished"
    assert retired() == 40


def test_a_small_run_is_judged_from_twenty_answers_on(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=7, live=12))
    assert work(make_run(project)).state == "finished"
    Device.objects.update(retired_at=timezone.now(), retired_reason="by hand")

    make_people(project, [*[f"dead-{n}b:x" for n in range(8)], *[""] * 12])
    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "dead_addresses")


def test_a_person_who_resumes_overrules_the_breaker(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=400, live=800))
    run = work(make_run(project))
    refused = reports.reasons_of(run)["unregistered"]

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    assert reports.totals_of(run).accepted == 800
    assert retired() == 400 - refused, "those seen since"


def test_where_many_are_dead_usually_more_is_borne(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=55, live=1_045))  # 5 %
    assert work(make_run(project)).state == "finished"
    Device.objects.update(retired_at=timezone.now(), retired_reason="by hand")
    make_people(project, [*[f"dead-{n}b:x" for n in range(480)], *[""] * 620])

    assert work(make_run(project)).state == "finished", "44 %: less than ten times the usual"

    Device.objects.update(retired_at=timezone.now(), retired_reason="by hand")
    make_people(project, [*[f"dead-{n}c:x" for n in range(700)], *[""] * 400])
    run = work(make_run(project))
    assert (run.state, run.cause) == ("paused", "dead_addresses"), "64 %: more than ever borne"


def test_what_a_run_retired_can_be_taken_back_at_once(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=3, live=100))
    run = work(make_run(project))
    by_hand = Device.objects.filter(retired_at=None).first()
    assert by_hand is not None
    Device.objects.filter(pk=by_hand.pk).update(retired_at=timezone.now(), retired_reason="by hand")

    assert control.restore_devices(run, by="user:alice") == 3

    retired = Device.objects.filter(retired_at__isnull=False)
    assert list(retired.values_list("pk", flat=True)) == [by_hand.pk]
    entry = AuditEntry.objects.get(action="restored devices")
    assert entry.detail["devices"] == 3
    assert control.restore_devices(run, by="user:alice") == 0
    assert AuditEntry.objects.filter(action="restored devices").count() == 1


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "answer", "answer": {"status": status, "body": ""}}
        for status in (408, 500, 502, 503, 504)
    ]
    + [{"kind": "drop"}, {"kind": "cut"}],
    ids=str,
)
def test_a_storm_of_copies_pauses_the_run(project: Project, fcm: Fcm, fault: Any) -> None:
    """FCM takes everything, and every answer is bad or gets lost on its way back."""
    make_people(project, 30)
    run = make_run(project, on_unknown="resend")
    fcm.script(**fault, accepted=True)
    sending.send(run.pk, 1, run.epoch)
    assert run.chunks.get().copies == len(fcm.witness()) == 30
    run.chunks.update(copies=131)

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "storm")
    assert run.cause_detail == "131 requests for 30 recipients may have arrived."

    fcm.mend()
    empty_the_gate()
    control.resume(run, by="user:alice")
    Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
    run.chunks.update(not_before=None)
    assert work(run).state == "finished", "a person saw it, and has said to go on"
    assert run.accepted == 30


def empty_the_gate() -> None:
    flush(settings.GATE_URL)


def test_what_dead_workers_had_in_flight_counts_towards_the_storm(project: Project) -> None:
    make_people(project, 150)
    run = make_run(project)
    for _ in range(3):
        claim = chunk.claim(run.pk, 1, run.epoch, task_id=None)
        assert claim is not None
        Window.objects.create(
            run=run, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=list(range(1, 121)),
            opened_at=timezone.now(),
        )  # fmt: skip
        let_leases_lapse()
        engine.advance(run.pk, now=timezone.now())
    chunk.claim(run.pk, 1, run.epoch, task_id=None)

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "storm")


def test_those_whom_a_person_sends_again_to_make_no_storm(project: Project, fcm: Fcm) -> None:
    make_people(project, 150)
    run = make_run(project, on_unknown="hold")
    granted = chunk.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted is not None
    lost = [
        Final(left, Delivery.Status.UNKNOWN, Reason.UNANSWERED) for left in left_to_send(granted)
    ]
    settling.settle(granted, None, {}, [], lost)
    run.chunks.update(copies=150)
    assert granted.close()
    engine.advance(run.pk, now=timezone.now())

    for _ in range(3):
        assert control.send_again(run, by="user:alice") == 150
        fcm.script("cut", times=150)
        work(run)
        fcm.mend()
        empty_the_gate()

    run.refresh_from_db()
    assert (run.state, run.unknown, run.cause) == ("finished", 150, "")
    assert run.chunks.get().copies == 600


@pytest.mark.parametrize("answer", ["quota", "vague", {"status": 418, "body": "tea"}], ids=str)
def test_refusals_make_no_storm(project: Project, fcm: Fcm, answer: Any) -> None:
    make_people(project, 50)
    run = make_run(project)
    fcm.script("answer", answer=answer)

    sending.send(run.pk, 1, run.epoch)

    assert fcm.counts()["requests"] > 0
    assert run.chunks.get().copies == 0


def test_answers_that_nobody_knows_pause_the_run_with_their_words(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 300)
    run = make_run(project)
    fcm.script("answer", answer={"status": 418, "body": {"error": {"message": "Tea only."}}})

    run = work(run)

    assert (run.state, run.cause) == ("paused", "unknown_answer")
    assert run.cause_detail == "Tea only."
    assert reports.totals_of(run).waiting == 300, "nobody is refused for what stands in between"

    fcm.mend()
    empty_the_gate()
    control.resume(run, by="user:alice")
    Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
    run.chunks.update(not_before=None)
    run = work(run)
    assert (run.state, run.accepted) == ("finished", 300)


def test_one_odd_answer_among_many_pauses_nothing(project: Project, fcm: Fcm) -> None:
    make_people(project, 60)
    run = make_run(project)
    fcm.script("answer", answer={"status": 418, "body": "tea"}, times=15)

    sending.send(run.pk, 1, run.epoch)

    run.refresh_from_db()
    assert (run.state, Retry.objects.count()) == ("sending", 15)


def test_a_worker_that_is_late_holds_nothing_back_and_pauses_nothing(project: Project) -> None:
    make_people(project, 5)
    run = make_run(project)
    late = Run.objects.get(pk=run.pk)
    control.pause(run, by="user:alice")
    control.resume(run, by="user:alice")

    late.hold_back("ios")
    with pytest.raises(Run.InvalidMove):
        Run.objects.get(pk=run.pk).pause(Cause.OTHER_PROJECT, epoch=late.epoch)

    run.refresh_from_db()
    assert (run.state, run.held_platforms) == ("sending", [])
