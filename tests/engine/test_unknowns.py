"""Nobody knows whether the phone rang: a person decides, once, and the totals stay true."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine, unknowns
from campaigns.results import reports
from campaigns.runs import claiming, sums
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.sending import sending, settling
from campaigns.sending.judge_answers import Final, Judged
from campaigns.sending.unsettled import UnsettledRecipient, left_to_send
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_people, make_run
from tests.given.by_hand import let_leases_lapse
from tests.servers.fcm import Fcm


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
    assert reports.recount(finished) == sums.totals_of(finished)
    assert reports.reasons_of(finished) == {}
    assert Delivery.objects.filter(run_id=finished.pk, resent=True).count() == 3
    assert len(fcm.witness()) == 8 + 3, "the first three had arrived; the rows admit it"
    entry = AuditEntry.objects.get(action__startswith="sent again")
    assert (entry.actor, entry.detail["recipients"]) == ("user:alice", 3)


def test_who_is_sent_to_again_today_leaves_tomorrows_run_of_the_series_in(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, ["lost-1:APA91b", ""])
    due = timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
    values: dict[str, Any] = {"schedule_kind": "recurring", "repeat": "daily", "at": due}
    today = make_run(project, advanced=False, on_unknown="hold", **values)
    engine.sweep(due)
    engine.advance(today.pk, now=due)
    work(today)
    control.send_again(today, by="user:alice")
    assert (today.state, today.finished_at) == ("sending", None)

    for minutes in (0, 1):
        engine.sweep(due + timedelta(days=1, minutes=minutes))

    tomorrow = today.campaign.runs.get(scheduled_at=due + timedelta(days=1))
    assert (tomorrow.state, tomorrow.detail_code) == ("preparing", "")


def test_a_second_click_sends_nobody_again(finished: Run) -> None:
    assert control.send_again(finished, by="user:alice") == 3
    assert control.send_again(finished, by="user:alice") == 0
    assert Retry.objects.count() == 3


def test_a_worker_that_dies_on_them_again_does_not_get_another_try(finished: Run) -> None:
    control.send_again(finished, by="user:alice")
    engine.advance(finished.pk, now=timezone.now())
    claim = claiming.claim(finished.pk, 1, finished.epoch, task_id=None)
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


def test_people_kept_as_unknown_stay_so_and_nobody_is_asked_again(finished: Run) -> None:
    assert unknowns.undecided(finished) == 3

    assert control.keep_unknown(finished, by="user:alice") == 3

    assert unknowns.undecided(finished) == 0
    assert finished.state == "finished"
    assert reports.reasons_of(finished) == {"let_be": 3}
    assert reports.recount(finished).unknown == 3
    assert control.send_again(finished, by="user:alice") == 0


def test_what_a_person_decides_beside_a_worker_at_the_same_chunk_stands(project: Project) -> None:
    make_people(project, 4)
    run = make_run(project, on_unknown="hold")
    granted = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted is not None
    one, two, three, four = left_to_send(granted)
    settling.settle(granted, None, Judged([lost(one), lost(two)]))

    assert control.keep_unknown(run, by="user:alice") == 2
    settling.settle(granted, None, Judged([lost(three)]))
    assert control.send_again(run, by="user:alice") == 1
    settling.settle(granted, None, Judged([lost(four)]))

    assert unknowns.undecided(run) == 1
    assert reports.reasons_of(run) == {"let_be": 2, "unanswered": 1}


def lost(left: UnsettledRecipient) -> Final:
    return Final(left, Delivery.Status.UNKNOWN, Reason.UNANSWERED)


def test_a_cancelled_run_sends_to_nobody_again(project: Project, fcm: Fcm) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project, on_unknown="hold")
    sending.send(run.pk, 1, run.epoch)
    control.cancel(run, by="user:alice")
    engine.advance(run.pk, now=timezone.now())

    with pytest.raises(Run.InvalidMove):
        control.send_again(run, by="user:alice")

    assert control.keep_unknown(run, by="user:alice") == 1


def test_who_is_sent_to_again_as_the_run_ends_is_not_lost(project: Project, fcm: Fcm) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project, on_unknown="hold")
    shown = Run.objects.get(pk=run.pk)
    work(run)

    assert control.send_again(shown, by="user:alice") == 1

    shown.refresh_from_db()
    assert (shown.state, shown.finished_at) == ("sending", None)
    assert sums.totals_of(shown).waiting == 1


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
    assert sums.totals_of(run).waiting == 1


def advance_beside(run_id: int) -> None:
    engine.advance(run_id, now=timezone.now())
    connection.close()


@pytest.mark.parametrize("state", ["waiting", "held"])
def test_people_sent_to_again_wait_for_nothing_else(finished: Run, state: str) -> None:
    later = timezone.now() + timedelta(hours=1)
    Run.objects.update(state="sending", finished_at=None)
    finished.chunks.update(state=state, not_before=later)
    finished.refresh_from_db()

    assert control.send_again(finished, by="user:alice") == 3

    assert (finished.chunks.get().state, finished.chunks.get().not_before) == ("waiting", None)
