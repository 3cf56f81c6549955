"""When the answers say that it is us, the run pauses for a person and nobody pays for it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns import chunk, control, engine, reports, sending
from campaigns.ledger import Retry, Window
from campaigns.reasons import Cause
from campaigns.run import Run
from notifications.audit import AuditEntry
from notifications.device import Device
from notifications.project import Project
from tests.builders import addresses, make_people, make_run
from tests.by_hand import let_leases_lapse, work
from tests.fcm import Fcm
from tests.forgetting import flush_gate


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


def test_many_dead_addresses_stop_the_run_before_they_cost_the_devices(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(dead=200, live=800))

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "dead_addresses")
    assert not Device.objects.filter(retired_at__isnull=False).exists()
    assert reports.reasons_of(run) == {"unregistered": 100}, "FCM's word stands in the rows"


def test_a_person_who_resumes_overrules_the_breaker(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=200, live=800))
    run = work(make_run(project))

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    assert reports.totals_of(run).accepted == 800
    assert Device.objects.filter(retired_at__isnull=False).count() == 100, "those seen since"


def test_ten_times_the_usual_share_of_dead_addresses_stops_a_run(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.breakers.USUAL_FROM", 1_000)
    make_people(project, addresses(live=1_099, dead=1))
    assert work(make_run(project)).state == "finished"
    make_people(project, [a for n in range(30) for a in (f"dead-{n}x:y", *[""] * 40)])

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "dead_addresses")
    assert "usual here is 0.1 %" in run.cause_detail


def test_dead_addresses_that_come_first_are_not_taken_for_the_whole(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.breakers.USUAL_FROM", 1_500)
    make_people(project, addresses(live=1_497, dead=3))
    assert work(make_run(project)).state == "finished"
    Device.objects.update(retired_at=timezone.now(), retired_reason="by hand")
    oldest = [a for n in range(35) for a in (f"dead-{n}x:y", *[""] * 27)]
    make_people(project, [*oldest, *[""] * 1_020])

    run = work(make_run(project))

    assert run.state == "finished", "3.5 % of the first chunk, but not ten times 0.2 % of the run"


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


def test_a_storm_of_copies_pauses_the_run(project: Project, fcm: Fcm) -> None:
    """FCM takes everything, every answer gets lost on its way back, and the gate forgets it."""
    make_people(project, 150)
    run = make_run(project, on_unknown="resend")
    fcm.script("drop", accepted=True)
    for _ in range(3):
        flush_gate()
        sending.send(run.pk, 1, run.epoch)
        Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
        engine.advance(run.pk, now=timezone.now() + timedelta(minutes=1))
    run.refresh_from_db()

    assert (run.state, run.cause) == ("paused", "storm")
    assert run.cause_detail == "300 requests for 150 recipients may have arrived."
    assert len(fcm.witness()) == 300

    fcm.mend()
    flush_gate()
    control.resume(run, by="user:alice")
    Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
    run.chunks.update(not_before=None)
    assert work(run).state == "finished", "a person saw it, and has said to go on"
    assert run.accepted == 150


def test_what_dead_workers_had_in_flight_counts_towards_the_storm(project: Project) -> None:
    make_people(project, 150)
    run = make_run(project)
    for _ in range(3):
        claim = chunk.claim(run.pk, 1, run.epoch, task_id=None)
        assert claim is not None
        Window.objects.create(
            run=run, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=list(range(1, 101)),
            opened_at=timezone.now(),
        )  # fmt: skip
        let_leases_lapse()
        engine.advance(run.pk, now=timezone.now())
    chunk.claim(run.pk, 1, run.epoch, task_id=None)

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "storm")


def test_refusals_make_no_storm(project: Project, fcm: Fcm) -> None:
    make_people(project, 150)
    run = make_run(project)
    fcm.script("answer", answer="internal")
    for _ in range(3):
        sending.send(run.pk, 1, run.epoch)
        Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
        engine.advance(run.pk, now=timezone.now() + timedelta(minutes=1))

    run.refresh_from_db()
    assert run.state == "sending"
    assert run.chunks.get().copies == 0


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
