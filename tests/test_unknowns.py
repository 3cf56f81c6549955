"""Nobody knows whether the phone rang: a person decides, once, and the totals stay true."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import chunk, control, engine, reports, sending, settling, unknowns
from campaigns.judging import Final
from campaigns.ledger import Delivery, Retry, Window
from campaigns.left import Left, left_to_send
from campaigns.reasons import Reason
from campaigns.run import Run
from notifications.audit import AuditEntry
from notifications.device import Device
from notifications.project import Project
from tests.builders import make_people, make_run
from tests.by_hand import let_leases_lapse
from tests.fcm import Fcm


@pytest.fixture
def finished(project: Project, fcm: Fcm) -> Run:
    """Five accepted, three of whom no answer came."""
    make_people(project, [*[f"lost-{n}:APA91b" for n in range(3)], *[""] * 5])
    run = make_run(project, on_unknown="hold")
    work(run)
    run.refresh_from_db()
    assert (run.state, run.accepted, run.unknown) == ("finished", 5, 3)
    return run


def work(run: Run) -> None:
    for _ in range(2):
        sending.send(run.pk, 1, run.epoch)
        engine.advance(run.pk, now=timezone.now())


def test_who_is_sent_to_again_is_marked_and_the_run_balances_anew(finished: Run, fcm: Fcm) -> None:
    assert control.send_again(finished, by="user:alice") == 3

    assert (finished.state, finished.finished_at) == ("sending", None)
    assert reports.recount(finished).waiting == 3
    engine.advance(finished.pk, now=timezone.now())
    work(finished)

    finished.refresh_from_db()
    assert (finished.state, finished.accepted, finished.unknown) == ("finished", 8, 0)
    assert reports.recount(finished) == reports.totals_of(finished)
    assert reports.reasons_of(finished) == {}
    assert Delivery.objects.filter(run_id=finished.pk, resent=True).count() == 3
    assert len(fcm.witness()) == 8 + 3, "the first three had arrived; the rows admit it"
    entry = AuditEntry.objects.get(action__startswith="sent again")
    assert (entry.actor, entry.detail["recipients"]) == ("user:alice", 3)


def test_a_second_click_sends_nobody_again(finished: Run) -> None:
    assert control.send_again(finished, by="user:alice") == 3
    assert control.send_again(finished, by="user:alice") == 0
    assert Retry.objects.count() == 3


def test_a_worker_that_dies_on_them_again_does_not_get_another_try(finished: Run) -> None:
    control.send_again(finished, by="user:alice")
    engine.advance(finished.pk, now=timezone.now())
    claim = chunk.claim(finished.pk, 1, finished.epoch, task_id=None)
    assert claim is not None
    Window.objects.create(
        run=finished, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=[1, 2],
        opened_at=timezone.now(),
    )  # fmt: skip
    let_leases_lapse()
    engine.advance(finished.pk, now=timezone.now())

    work(finished)

    finished.refresh_from_db()
    assert (finished.state, finished.accepted, finished.unknown) == ("finished", 6, 2)
    assert reports.reasons_of(finished) == {"interrupted": 2}


def test_past_the_deadline_the_door_says_so_and_changes_nothing(finished: Run) -> None:
    Run.objects.update(started_at=timezone.now() - timedelta(days=30))
    finished.refresh_from_db()

    with pytest.raises(Run.InvalidMove, match="deadline has passed"):
        control.send_again(finished, by="user:alice")

    finished.refresh_from_db()
    assert finished.state == "finished"
    assert not AuditEntry.objects.filter(action__startswith="sent again").exists()


def test_who_is_let_be_stays_unknown_and_nobody_is_asked_again(finished: Run) -> None:
    assert unknowns.undecided(finished) == 3

    assert control.let_be(finished, by="user:alice") == 3

    assert unknowns.undecided(finished) == 0
    assert finished.state == "finished"
    assert reports.reasons_of(finished) == {"let_be": 3}
    assert reports.recount(finished).unknown == 3
    assert control.send_again(finished, by="user:alice") == 0


def test_what_a_person_decides_beside_a_worker_at_the_same_chunk_stands(project: Project) -> None:
    make_people(project, 4)
    run = make_run(project, on_unknown="hold")
    granted = chunk.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted is not None
    one, two, three, four = left_to_send(granted)
    settling.settle(granted, None, {}, [], [lost(one), lost(two)])

    assert control.let_be(run, by="user:alice") == 2
    settling.settle(granted, None, {}, [], [lost(three)])
    assert control.send_again(run, by="user:alice") == 1
    settling.settle(granted, None, {}, [], [lost(four)])

    assert unknowns.undecided(run) == 1
    assert reports.reasons_of(run) == {"let_be": 2, "unanswered": 1}


def lost(left: Left) -> Final:
    return Final(left, Delivery.Status.UNKNOWN, Reason.UNANSWERED)


def test_a_cancelled_run_sends_to_nobody_again(project: Project, fcm: Fcm) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project, on_unknown="hold")
    sending.send(run.pk, 1, run.epoch)
    control.cancel(run, by="user:alice")
    engine.advance(run.pk, now=timezone.now())

    with pytest.raises(Run.InvalidMove):
        control.send_again(run, by="user:alice")

    assert control.let_be(run, by="user:alice") == 1


def test_who_is_sent_to_again_as_the_run_ends_is_not_lost(project: Project, fcm: Fcm) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project, on_unknown="hold")
    shown = Run.objects.get(pk=run.pk)
    work(run)

    assert control.send_again(shown, by="user:alice") == 1

    shown.refresh_from_db()
    assert (shown.state, shown.finished_at) == ("sending", None)
    assert reports.totals_of(shown).waiting == 1


def test_a_run_cancelled_meanwhile_sends_to_nobody_again(project: Project, fcm: Fcm) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project, on_unknown="hold")
    sending.send(run.pk, 1, run.epoch)
    shown = Run.objects.get(pk=run.pk)
    control.cancel(run, by="user:alice")

    with pytest.raises(Run.InvalidMove):
        control.send_again(shown, by="user:alice")

    assert unknowns.undecided(Run.objects.get(pk=run.pk)) == 0, "by the cancel it was decided"


@pytest.mark.django_db(transaction=True)
def test_a_run_does_not_end_while_a_person_sends_again(
    transactional_db: None, project: Project, fcm: Fcm
) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project, on_unknown="hold")
    sending.send(run.pk, 1, run.epoch)
    ending = Thread(target=advance_beside, args=[run.pk])
    with transaction.atomic():
        control.send_again(run, by="user:alice")
        ending.start()
        ending.join(0.5)  # it waits for us
    ending.join()

    run.refresh_from_db()
    assert (run.state, run.finished_at) == ("sending", None)
    assert reports.totals_of(run).waiting == 1


def advance_beside(run_id: int) -> None:
    engine.advance(run_id, now=timezone.now())
    connection.close()


@pytest.mark.parametrize("state", ["waiting", "held"])
def test_whom_a_person_sends_again_to_waits_for_nothing_else(finished: Run, state: str) -> None:
    later = timezone.now() + timedelta(hours=1)
    Run.objects.update(state="sending", finished_at=None)
    finished.chunks.update(state=state, not_before=later)
    finished.refresh_from_db()

    assert control.send_again(finished, by="user:alice") == 3

    assert (finished.chunks.get().state, finished.chunks.get().not_before) == ("waiting", None)


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
        claim = chunk.claim(run.pk, 1, run.epoch, task_id=None)
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


def test_who_was_refused_for_a_trouble_of_the_moment_can_be_sent_to_again(
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

    assert reports.totals_of(run) == reports.recount(run)
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
