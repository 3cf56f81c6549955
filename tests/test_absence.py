"""After a long absence, or in a restored snapshot, what was under way asks before it goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns import chunk, control, engine, tasks
from campaigns.chunk import Chunk
from campaigns.ledger import Window
from campaigns.run import Run
from campaigns.tick import Tick
from campaigns.wave import Wave
from notifications.project import Project
from tests.builders import make_campaign, make_people, make_run

pytestmark = pytest.mark.django_db
NIGHT = timedelta(hours=7)


@pytest.fixture
def run(project: Project) -> Run:
    """Sending: its chunk is rung."""
    make_people(project, 2)
    run = make_run(project)
    engine.advance(run.pk, now=timezone.now())
    tick(timedelta(0))
    return Run.objects.get(pk=run.pk)


def tick(ago: timedelta) -> None:
    Tick.record(timezone.now() - ago)


def age(by: timedelta) -> None:
    """All that says when something happened, as if it were that much longer ago."""
    moments = ("launched_at", "scheduled_at", "started_at")
    Run.objects.update(**{name: F(name) - by for name in moments})
    Chunk.objects.update(queued_at=F("queued_at") - by)
    Window.objects.update(opened_at=F("opened_at") - by)
    Wave.objects.update(rung_at=F("rung_at") - by)
    Tick.objects.update(at=F("at") - by)


def claims(run: Run) -> bool:
    return chunk.claim(run.pk, 1, run.epoch, task_id=None) is not None


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


def test_who_waits_long_for_a_retry_is_not_asked_about_while_beat_lives(run: Run) -> None:
    age(NIGHT)
    tick(timedelta(0))
    assert claims(run)
    assert after_a_sweep(run).state == "sending"


def test_nobody_has_ever_ticked_here_so_nobody_is_missing(run: Run) -> None:
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
