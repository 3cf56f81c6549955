"""After a long absence, or in a restored snapshot, what was under way asks before it goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine
from campaigns.runs import claiming
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from campaigns.sending import settling
from campaigns.sending.judge_answers import Final, Judged
from campaigns.sending.unsettled import left_to_send
from notifications.people.project import Project
from tests.given.absence import NIGHT, age, tick
from tests.given.builders import make_campaign, make_people, make_run, make_scheduled_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project: Project) -> Run:
    """Sending: its chunk is rung."""
    make_people(project, 2)
    run = make_run(project)
    engine.advance(run.pk, now=timezone.now())
    tick(timedelta(0))
    return Run.objects.get(pk=run.pk)


def claims(run: Run) -> bool:
    return claiming.claim(run.pk, 1, run.epoch, task_id=None) is not None


def after_a_sweep(run: Run) -> Run:
    tasks.sweep()
    tasks.advance(run_id=run.pk)
    return Run.objects.get(pk=run.pk)


def test_a_night_later_it_asks_and_says_how_long_nothing_happened(run: Run) -> None:
    age(NIGHT)
    found = after_a_sweep(run)
    assert (found.state, found.cause) == ("paused", "away")
    assert found.detail == "Nothing happened for 7 h."


def test_a_run_that_was_still_preparing_asks_as_well(project: Project) -> None:
    run = control.launch(make_campaign(project), by="user:alice", now=timezone.now())
    tick(timedelta(0))
    age(NIGHT)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.cause, run.planned) == ("paused", "away", None)


def test_a_doorbell_that_is_heard_before_the_first_sweep_sends_nothing(run: Run) -> None:
    age(NIGHT)
    assert not claims(run)
    assert engine.advance(run.pk, now=timezone.now()) is None
    assert Run.objects.get(pk=run.pk).cause == "away"


def test_a_short_absence_is_nothing_to_ask_about(run: Run) -> None:
    age(timedelta(minutes=10))
    assert claims(run)
    assert after_a_sweep(run).state == "sending"


def test_beat_alone_was_away_and_the_run_is_worked_on(run: Run) -> None:
    tick(NIGHT)
    assert claims(run), "rung a moment ago"
    assert after_a_sweep(run).state == "sending"


def test_a_long_wait_for_a_retry_is_no_absence_while_beat_lives(run: Run) -> None:
    age(NIGHT)
    Tick.objects.update(at=timezone.now())  # as it was all night
    assert claims(run)
    assert after_a_sweep(run).state == "sending"


def test_where_beat_has_never_ticked_nobody_is_asked(run: Run) -> None:
    age(NIGHT)
    Tick.objects.all().delete()
    assert claims(run)
    assert after_a_sweep(run).state == "sending"


def test_a_person_resumes_it_even_while_beat_is_still_away(run: Run) -> None:
    age(NIGHT)
    engine.advance(run.pk, now=timezone.now())
    control.resume(Run.objects.get(pk=run.pk), by="user:alice")
    released = engine.advance(run.pk, now=timezone.now() + timedelta(minutes=1))
    assert released is not None
    run.refresh_from_db()
    assert (run.state, claims(run)) == ("sending", True)


def test_after_the_next_absence_it_asks_again(run: Run) -> None:
    for _ in range(2):
        age(NIGHT)
        engine.advance(run.pk, now=timezone.now())
        found = Run.objects.get(pk=run.pk)
        assert (found.state, found.cause) == ("paused", "away")
        control.resume(found, by="user:alice")
        assert engine.advance(run.pk, now=timezone.now()) is not None
        tick(timedelta(0))
        assert engine.advance(run.pk, now=timezone.now()) is None
        assert Run.objects.get(pk=run.pk).state == "sending"


def test_a_run_asks_though_the_tick_after_the_absence_came_first(run: Run) -> None:
    """Of another control worker, or of one that had looked at what was there before a restore."""
    age(NIGHT)
    tick(timedelta(0))
    tick(timedelta(0))
    assert not claims(run)
    assert engine.advance(run.pk, now=timezone.now()) is None
    found = Run.objects.get(pk=run.pk)
    assert (found.cause, found.detail) == ("away", "Nothing happened for 7 h.")


def test_an_absence_asked_about_after_the_tick_is_asked_about_once(run: Run) -> None:
    age(NIGHT)
    tick(timedelta(0))
    engine.advance(run.pk, now=timezone.now())
    control.resume(Run.objects.get(pk=run.pk), by="user:alice")
    assert engine.advance(run.pk, now=timezone.now()) is not None
    assert Run.objects.get(pk=run.pk).state == "sending"
    assert claims(Run.objects.get(pk=run.pk))


def test_what_was_launched_since_the_absence_is_not_asked_about(project: Project) -> None:
    tick(NIGHT)
    tick(timedelta(0))
    make_people(project, 1)
    assert make_run(project).state == "sending"


DUE = timedelta(minutes=30)


@pytest.fixture
def missed(project: Project) -> Run:
    """Scheduled yesterday for half an hour ago, when nobody was there."""
    make_people(project, 1)
    due = timezone.now() - DUE
    run = make_scheduled_run(project, timezone.now() + DUE, max_lateness_seconds=3_600)
    Run.objects.update(scheduled_at=due, launched_at=due - timedelta(days=1))
    tick(NIGHT)
    return Run.objects.get(pk=run.pk)


@pytest.mark.parametrize("ticked_first", [False, True])
def test_what_came_due_in_an_absence_may_have_been_sent_so_it_asks(
    missed: Run, ticked_first: bool
) -> None:
    if ticked_first:
        tick(timedelta(0))
    found = after_a_sweep(missed)
    assert (found.state, found.cause, found.planned) == ("paused", "away", None)

    control.resume(found, by="user:alice")

    found = after_a_sweep(missed)
    assert (found.state, found.planned) == ("sending", 1)


@pytest.mark.parametrize("ticked_first", [False, True])
def test_what_is_late_as_well_is_asked_about_once(missed: Run, ticked_first: bool) -> None:
    Run.objects.update(max_lateness_seconds=60)
    if ticked_first:
        tick(timedelta(0))
    found = after_a_sweep(missed)
    assert (found.state, found.cause, found.planned) == ("paused", "late", None)

    control.resume(found, by="user:alice")

    found = after_a_sweep(missed)
    assert (found.state, found.planned) == ("sending", 1)


def test_what_comes_due_after_an_absence_just_starts(missed: Run) -> None:
    Run.objects.update(scheduled_at=timezone.now() + timedelta(seconds=30))
    tick(timedelta(0))
    engine.sweep(timezone.now() + timedelta(minutes=1))
    engine.advance(missed.pk, now=timezone.now() + timedelta(minutes=1))
    assert Run.objects.get(pk=missed.pk).state == "sending"


def test_who_sends_again_after_a_night_off_has_seen_the_run(run: Run) -> None:
    granted = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted is not None
    one, two = left_to_send(granted)
    lost = Final(two, Delivery.Status.UNKNOWN, Reason.UNANSWERED)
    settling.settle(granted, None, Judged([Final(one, Delivery.Status.ACCEPTED), lost]))
    assert granted.close()
    engine.advance(run.pk, now=timezone.now())
    age(NIGHT)
    tasks.sweep()

    assert control.send_again(Run.objects.get(pk=run.pk), by="user:alice") == 1

    assert after_a_sweep(run).state == "sending"
