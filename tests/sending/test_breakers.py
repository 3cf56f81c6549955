"""When the answers say that it is us, the run pauses for a person and nobody pays for it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine, freezing
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.ledger import Retry
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import addresses, make_people, make_run
from tests.given.by_hand import work
from tests.given.forgetting import flush_gate
from tests.servers.fcm import Fcm


def test_a_key_of_another_project_stops_the_run_within_one_trial_window(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(foreign=1_500))

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "other_project")
    assert (run.detail_code, run.detail_args) == ("foreign", {"count": 100, "answered": 100})
    assert fcm.counts()["requests"] == sending.TRIAL
    assert sums.totals_of(run).waiting == 1_500, "nobody pays for our wrong key"
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
    assert sums.totals_of(run).accepted == 150


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
    assert sums.totals_of(run).waiting == 300


def retired() -> int:
    return Device.objects.filter(retired_at__isnull=False).count()


def test_a_third_of_dead_addresses_stops_the_run_before_it_costs_a_device(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(dead=600, live=1_400))

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "dead_addresses")
    assert (run.detail_code, run.detail_args) == ("dying", {"dead": 300, "answered": 1_000})
    assert retired() == 0
    assert sums.totals_of(run).waiting > 1_000
    assert reports.reasons_of(run)["unregistered"] >= 300, "FCM's word stands in the rows"


def test_an_old_list_is_sent_to_and_keeps_its_devices(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=280, live=820))

    run = work(make_run(project))

    assert (run.state, run.accepted, run.rejected) == ("finished", 820, 280)
    assert retired() == 0, "beyond 5 % of a chunk only a person decides"


def test_a_large_chunk_may_have_as_large_a_share_of_dead_addresses(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "size_for", lambda _: 2_400)
    every_seventh = [f"dead-{n}:x" if n % 7 == 0 else "" for n in range(2_400)]
    make_people(project, every_seventh)

    run = work(make_run(project))

    assert (run.state, run.rejected) == ("finished", 343), "a seventh is no third"


def test_an_outage_in_a_large_chunk_that_calls_everybody_dead_costs_few_devices(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "size_for", lambda _: 2_400)
    make_people(project, [*[""] * 1_100, *[f"dead-{n}:x" for n in range(1_300)]])

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "dead_addresses")
    assert retired() <= 100, "and not a twentieth of 2,400"


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


def test_a_run_of_a_thousand_that_gets_fewer_answers_is_judged_by_those(
    project: Project, fcm: Fcm
) -> None:
    gone = make_people(project, 250)
    make_people(project, addresses(dead=280, live=620))
    run = make_run(project)
    Device.objects.filter(pk__in=[device.pk for device in gone]).update(
        retired_at=timezone.now(), retired_reason="by hand"
    )

    run = work(run)

    assert (run.state, run.cause) == ("paused", "dead_addresses")


def test_a_slow_run_is_judged_by_all_its_answers(project: Project, fcm: Fcm) -> None:
    """Each window of it has few: the dead come first, and the last ones live."""
    make_people(project, addresses(dead=13, live=12))
    run = work(make_run(project, rate_per_second=20))

    assert (run.state, run.cause) == ("paused", "dead_addresses")


def test_the_first_thousand_answers_may_come_from_several_chunks(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, [*[f"dead-{n}:x" for n in range(155)], *[""] * 845] * 1)
    make_people(project, [*[f"dead-{n}b:x" for n in range(160)], *[""] * 840])
    run = make_run(project)
    first, second = run.chunks.order_by("number")
    Run.objects.update(rate_per_second=100)
    for chunk_of_run in (first, second):  # as far as they come before each takes a rest
        sending.send(run.pk, chunk_of_run.number, run.epoch)

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "dead_addresses")


def test_a_person_who_resumes_overrules_the_breaker(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=400, live=800))
    run = work(make_run(project))
    refused = reports.reasons_of(run)["unregistered"]

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    assert sums.totals_of(run).accepted == 800
    assert retired() == 400 - refused, "those seen since"


def test_a_resume_from_an_old_copy_overrules_what_the_row_says(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    seen_by_alice, seen_by_bob = Run.objects.get(pk=run.pk), Run.objects.get(pk=run.pk)

    run.pause(Cause.STORM)
    control.resume(seen_by_alice, by="user:alice")
    for _ in range(2):  # the second time it is known already
        run.pause(Cause.DEAD_ADDRESSES)
        control.resume(seen_by_bob, by="user:bob")

    run.refresh_from_db()
    assert (run.state, run.cause) == ("sending", "")
    assert run.overruled == ["storm", "dead_addresses"]


def test_a_project_usually_full_of_dead_addresses_may_have_more(project: Project, fcm: Fcm) -> None:
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


def test_answers_that_nobody_knows_pause_the_run_with_their_words(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 300)
    run = make_run(project)
    fcm.script("answer", answer={"status": 418, "body": {"error": {"message": "Tea only."}}})

    run = work(run)

    assert (run.state, run.cause) == ("paused", "unknown_answer")
    assert (run.detail_code, run.detail_args) == ("quoted", {"words": "Tea only."})
    assert sums.totals_of(run).waiting == 300, "nobody is refused for what stands in between"

    fcm.mend()
    flush_gate()
    control.resume(run, by="user:alice")
    Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
    run.chunks.update(not_before=None)
    run = work(run)
    assert (run.state, run.accepted) == ("finished", 300)


def test_at_a_low_rate_answers_that_nobody_knows_pause_the_run_as_well(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 300)
    run = make_run(project, rate_per_second=20)
    fcm.script("answer", answer={"status": 418, "body": "tea"})

    run = work(run)

    assert (run.state, run.cause) == ("paused", "unknown_answer")
    assert fcm.counts()["requests"] < 30


def test_odd_addresses_that_are_asked_again_together_pause_nothing(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, [a for n in range(15) for a in (f"unheardof-{n}:x", *[""] * 9)])
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    Retry.objects.update(not_before=timezone.now() - timedelta(minutes=5))
    run.chunks.update(not_before=None)
    engine.advance(run.pk, now=timezone.now())

    run = work(run)

    assert (run.state, run.accepted, run.rejected) == ("finished", 135, 15)


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
