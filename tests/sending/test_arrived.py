"""What may have arrived is never called refused, and nobody is sent to a fourth time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine, unknowns
from campaigns.results import reports
from campaigns.runs import claiming, sums
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_people, make_run
from tests.given.by_hand import let_leases_lapse
from tests.servers.fcm import Fcm


def work(run: Run) -> None:
    for _ in range(2):
        sending.send(run.pk, 1, run.epoch)
        engine.advance(run.pk, now=timezone.now())


BROKEN = [
    *({"kind": "answer", "answer": {"status": code, "body": ""}} for code in (408, 500, 502, 504)),
    *({"kind": kind} for kind in ("drop", "cut", "reset")),
]


@pytest.mark.parametrize("fault", BROKEN, ids=str)
def test_under_hold_whoever_may_have_got_it_gets_no_second(
    project: Project, fcm: Fcm, fault: dict[str, Any]
) -> None:
    """FCM accepts, and then answers as if it had not, or not at all."""
    make_people(project, 5)
    run = make_run(project, on_unknown="hold")
    fcm.script(**fault, accepted=True, times=2)

    work(run)

    run.refresh_from_db()
    assert (run.state, run.accepted, run.unknown) == ("finished", 3, 2)
    assert len(fcm.witness()) == 5, "each of them once"
    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists()


@pytest.mark.parametrize("fault", BROKEN, ids=str)
def test_under_resend_whoever_may_have_got_two_is_marked(
    project: Project, fcm: Fcm, fault: dict[str, Any]
) -> None:
    make_people(project, 5)
    run = make_run(project, on_unknown="resend")
    fcm.script(**fault, accepted=True, times=2)
    sending.send(run.pk, 1, run.epoch)
    Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
    run.chunks.update(not_before=None)
    engine.advance(run.pk, now=timezone.now())

    work(run)

    run.refresh_from_db()
    assert (run.state, run.accepted) == ("finished", 5)
    assert len(fcm.witness()) == 5 + 2
    assert Delivery.objects.filter(run_id=run.pk, resent=True).count() == 2
    assert reports.sent_too_often(run) == 2


def test_an_address_whose_answer_is_always_lost_is_rung_twice_and_asks_a_person(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, ["deaf:APA91b", *[""] * 4])
    run = make_run(project, on_unknown="resend")
    fcm.script("drop", accepted=True, address="deaf:APA91b")
    for _ in range(6):
        sending.send(run.pk, 1, run.epoch)
        Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
        run.chunks.update(not_before=None)
        engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.accepted, run.unknown) == ("finished", 4, 1)
    assert len(fcm.witness()) == 4 + 2
    assert unknowns.undecided(run) == 1


def test_workers_that_die_over_somebody_leave_three_requests_at_most(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    run = make_run(project, on_unknown="resend")
    for _ in range(3):
        claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
        assert claim is not None
        Window.objects.create(
            run=run, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=[1],
            opened_at=timezone.now(),
        )  # fmt: skip
        let_leases_lapse()
        engine.advance(run.pk, now=timezone.now())

    work(run)

    run.refresh_from_db()
    assert (run.state, run.accepted, run.unknown) == ("finished", 2, 1)
    row = Delivery.objects.get(run_id=run.pk, seq=1)
    assert (row.status, row.reason, row.resent) == ("unknown", "interrupted", True)
    assert len(fcm.witness()) == 2, "a fourth request never left"


def test_people_refused_for_a_passing_reason_can_be_sent_to_again(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, ["unheardof-1:x", "dead-1:x", *[""] * 3])
    run = make_run(project)
    for _ in range(2):
        sending.send(run.pk, 1, run.epoch)
        Retry.objects.update(not_before=timezone.now() - timedelta(minutes=5))
        run.chunks.update(not_before=None)
        engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.rejected, run.unknown) == ("finished", 2, 0)
    assert reports.reasons_of(run) == {"unknown_answer": 1, "unregistered": 1}

    assert control.send_again(run, by="user:alice") == 1

    assert sums.totals_of(run) == reports.recount(run)
    Device.objects.filter(address="unheardof-1:x").update(address="live-now:x")
    engine.advance(run.pk, now=timezone.now())
    work(run)
    run.refresh_from_db()
    assert (run.state, run.accepted, run.rejected) == ("finished", 4, 1)
    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists(), "the first was refused"


def test_a_cancel_says_of_lost_answers_that_it_cut_them_short_and_asks_nobody(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, ["lost-1:x", *[""] * 2])
    run = make_run(project, on_unknown="resend")
    sending.send(run.pk, 1, run.epoch)
    control.cancel(run, by="user:alice")

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.accepted, run.unknown) == ("cancelled", 2, 1)
    assert reports.reasons_of(run) == {"cut_short": 1}
    assert unknowns.undecided(run) == 0


def test_who_was_only_throttled_after_a_worker_died_is_reached(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    run = make_run(project, on_unknown="resend")
    claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert claim is not None
    Window.objects.create(
        run=run, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=[1, 2, 3],
        opened_at=timezone.now(),
    )  # fmt: skip
    let_leases_lapse()
    fcm.script("answer", answer="devicerate")
    for _ in range(4):
        engine.advance(run.pk, now=timezone.now())
        sending.send(run.pk, 1, run.epoch)
        Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
        run.chunks.update(not_before=None)
    fcm.mend()
    engine.advance(run.pk, now=timezone.now())

    work(run)

    run.refresh_from_db()
    assert (run.state, run.accepted, run.unknown) == ("finished", 3, 0)
    assert Delivery.objects.filter(run_id=run.pk, resent=True).count() == 3


def test_words_of_fcms_that_postgresql_cannot_keep_cost_no_answer(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    run = make_run(project)
    body = {"error": {"code": 400, "message": "not a valid FCM registration token\x00"}}
    fcm.script("answer", answer={"status": 400, "body": body}, times=1)

    work(run)

    run.refresh_from_db()
    assert (run.state, run.accepted, run.rejected) == ("finished", 2, 1)
    assert run.detail_code == ""
    run.state = Run.State.SENDING
    Run.objects.filter(pk=run.pk).update(state="sending", finished_at=None)
    run.pause(Cause.UNKNOWN_ANSWER, "Tea\x00only")
    assert (run.detail_code, run.detail_args) == ("quoted", {"words": "Teaonly"})


def test_words_of_fcms_are_kept_letter_by_letter(project: Project, fcm: Fcm) -> None:
    words = "one\ttwo\nthree\r\nback\\slash \\N \\. \\t \\\\ end \u2028 \x1e 안녕 🎉"
    make_people(project, 1)
    run = make_run(project)
    body = {"error": {"code": 400, "message": words}}
    fcm.script("answer", answer={"status": 400, "body": body}, times=1)

    work(run)

    (delivery,) = Delivery.objects.filter(run_id=run.pk)
    assert (delivery.status, delivery.detail) == ("rejected", words)


def test_sending_again_to_nobody_leaves_an_ended_run_as_it_is(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    run = make_run(project)
    work(run)
    run.refresh_from_db()
    ended = run.finished_at
    assert run.state == "finished"

    assert control.send_again(run, by="user:alice") == 0

    assert (run.state, run.finished_at) == ("finished", ended)
    assert not AuditEntry.objects.filter(action__startswith="sent again").exists()
