"""A control worker whose clock jumps: PostgreSQL's decides what is due, and who was away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import engine
from campaigns.runs.ledger import Retry
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from campaigns.runs.wave import Wave
from campaigns.sending import sending
from notifications.people.project import Project
from notifications.postgres import clock
from tests.given.builders import make_people, make_run, make_scheduled_run
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
HALF_AN_HOUR = timedelta(minutes=30)
BOTH_WAYS = pytest.mark.parametrize(
    "jump", [timedelta(hours=8), timedelta(hours=-8)], ids=["ahead", "behind"]
)
Jump = Callable[[timedelta], None]


@pytest.fixture
def jumped(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Have this process believe in another hour."""
    right = timezone.now

    def jump(by: timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: right() + by)

    return jump


def swept(run: Run) -> Run:
    tasks.sweep()
    tasks.start()
    tasks.advance(run_id=run.pk)
    return Run.objects.get(pk=run.pk)


@BOTH_WAYS
def test_nothing_starts_before_its_time(project: Project, jumped: Jump, jump: timedelta) -> None:
    run = make_scheduled_run(project, timezone.now() + HALF_AN_HOUR)
    jumped(jump)
    assert swept(run).state == "scheduled"


@BOTH_WAYS
def test_what_is_due_starts_and_is_not_called_late(
    project: Project, jumped: Jump, jump: timedelta
) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, timezone.now() + HALF_AN_HOUR)
    Run.objects.update(scheduled_at=timezone.now() - timedelta(minutes=1))
    jumped(jump)
    assert swept(run).state == "sending"


@BOTH_WAYS
def test_nobody_is_called_away_who_ticks(project: Project, jumped: Jump, jump: timedelta) -> None:
    make_people(project, 1)
    run = make_run(project)
    Tick.record(clock.now())
    jumped(jump)

    assert swept(run).state == "sending"
    assert swept(run).state == "sending"

    tick = Tick.objects.get()
    assert tick.back_at is None
    assert abs(clock.now() - tick.at) < HALF_AN_HOUR


@BOTH_WAYS
def test_what_it_writes_down_bears_the_right_hour(
    project: Project, jumped: Jump, jump: timedelta
) -> None:
    make_people(project, 1)
    run = make_run(project, advanced=False)
    jumped(jump)

    tasks.advance(run_id=run.pk)
    tasks.wave_done([], run_id=run.pk, wave=1)

    run.refresh_from_db()
    wave, chunk = Wave.objects.get(run=run), run.chunks.get()
    for at in (run.started_at, wave.rung_at, wave.called_back_at, chunk.queued_at):
        assert is_now(at)


@BOTH_WAYS
def test_an_end_bears_the_right_hour(project: Project, jumped: Jump, jump: timedelta) -> None:
    run = make_run(project)
    jumped(jump)
    engine.advance(run.pk, now=clock.now())
    run.refresh_from_db()
    assert run.state == "finished"
    assert is_now(run.finished_at)


def is_now(at: datetime | None) -> bool:
    return at is not None and abs(clock.now() - at) < HALF_AN_HOUR


@pytest.mark.parametrize("jump", [timedelta(hours=30), timedelta(hours=-2)], ids=["on", "back"])
def test_a_sending_worker_whose_clock_jumps_keeps_deadlines_and_retries(
    project: Project, fcm: Fcm, jumped: Jump, jump: timedelta
) -> None:
    make_people(project, ["flaky-1:APA91b", "", ""])
    run = make_run(project)
    jumped(jump)

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 2}

    soon = Retry.objects.get(run=run).not_before - clock.now()
    assert timedelta(seconds=1) < soon < timedelta(seconds=60)
