"""F15–F18: beat away, or there twice; clocks wrong or changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

import redis
from django.conf import settings
from django.utils import timezone

from campaigns import control, tasks
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from tests.chaos.bugs.clocks import HOUR_OF_SWEEPS
from tests.chaos.fault import CannotBePlayed, fault
from tests.chaos.faults.postgres_faults import arrived
from tests.chaos.scene import Scene
from tests.given.builders import make_campaign
from tests.servers.clock import COMPILER, Clock

SCHEDULES = 50
FIVE_MINUTES = timedelta(minutes=5)


def _scheduled(scene: Scene, seconds: float) -> Run:
    """Launched for a moment that comes."""
    at = timezone.now() + timedelta(seconds=seconds)
    campaign = make_campaign(scene.project, schedule_kind="at", at=at)
    return control.launch(campaign, by="user:alice", now=timezone.now())


def _state(run: Run) -> str:
    run.refresh_from_db()
    return str(run.state)


@fault("F15", "beat away at the hour, and for too long", people=1_000, workers=("bulk", "control"))
def beat_away(scene: Scene) -> None:
    """A little late it starts once. A run that was due long ago asks a person."""
    soon, old = _scheduled(scene, 1), _scheduled(scene, 1)
    Run.objects.filter(pk=old.pk).update(scheduled_at=timezone.now() - timedelta(hours=2))
    door = scene.door()
    scene.wait("the hour passed", lambda: timezone.now() > soon.scheduled_at + timedelta(seconds=5))
    assert not arrived(scene), "somebody sent though nobody ticked"
    ready = door.page("/readyz")
    assert "beat" in ready.body, f"/readyz says nothing of beat: {ready.body}"
    scene.start("beat")
    scene.healed()
    scene.adopt(soon)
    scene.wait("the old one asks", lambda: _state(old) == "paused", seconds=20)
    assert old.cause == "late", f"it paused for {old.cause}"
    scene.finish()
    assert arrived(scene) == 1_000, f"{arrived(scene)} arrived, not 1,000"


@fault(
    "F16",
    "two beats, two sweepers, 50 schedules",
    people=40,
    workers=("bulk", "control", "control.2", "beat", "beat.2"),
    patience=90,
)
def beat_doubled(scene: Scene) -> None:
    """Each of them starts once."""
    runs = [_scheduled(scene, 3) for _ in range(SCHEDULES)]
    scene.adopt(runs[-1])
    unfinished = Run.objects.filter(project=scene.project, finished_at=None)
    scene.wait("all of them end", lambda: not unfinished.exists(), seconds=120)
    every = Run.objects.filter(project=scene.project)
    assert every.count() == SCHEDULES, f"{every.count()} runs of {SCHEDULES} schedules"
    assert {run.accepted for run in every} == {40}
    assert arrived(scene) == 40 * SCHEDULES, f"{arrived(scene)} arrived"


def _clock_of_its_own(scene: Scene, ahead: timedelta = timedelta()) -> Clock:
    if COMPILER is None:
        raise CannotBePlayed("no process has another clock here")
    clock = Clock(scene.stage.state.path / "clock")
    clock.build(ahead)
    return clock


@fault("F17", "clock 5 min ahead: no start", people=0, workers=("control", "beat"), ends="")
def wrong_at_the_start(scene: Scene) -> None:
    planted = scene.fault.different.get("bulk.2", {})
    clock = _clock_of_its_own(scene, ahead=FIVE_MINUTES)
    refused = scene.stage.prepare_worker("bulk.2", {**planted, **clock.environment})
    try:
        refused.start_only()
        code = refused.wait(40)
        assert code, "it started although its clock is wrong"
        assert refused.said("ahead of PostgreSQL's"), "it did not say why"
    finally:
        scene.stage.end_worker("bulk.2")


@fault("F17j", "clock jumps 5 min ahead, then back", people=20_000, within=15)
def jumps(scene: Scene) -> None:
    """One of two workers. No lease is stolen, nobody is sent to twice."""
    planted = scene.fault.different.get("bulk.2", {})
    clock = _clock_of_its_own(scene)
    scene.stage.start_worker("bulk.2", {**planted, **clock.environment})
    try:
        scene.launch()
        scene.until(0.1)
        clock.set_ahead(FIVE_MINUTES)
        scene.until(0.7)
        clock.set_ahead(timedelta())
        scene.healed()
        scene.finish()
        assert scene.worker("bulk.2").said("] succeeded in"), "the jumping one did nothing"
    finally:
        scene.stage.end_worker("bulk.2")


BERLIN = ZoneInfo("Europe/Berlin")
DAY, STEP = timedelta(days=1), timedelta(minutes=30)


@fault(
    "F18",
    "clocks change (sweeps are told the hour)",
    people=50,
    different={"control": {"CHAOS_PLANTED": "sweeps by the hour they are told"}},
)
def clocks_change(scene: Scene) -> None:
    """A series at 02:30, which spring skips and autumn has twice: each night sends once.

    Beat, sweeps and workers are real; only the hour at which a sweep believes itself is ours.
    """
    spring, autumn = _nights_of_change()
    _is_sent(scene, spring, at=["02:30", "03:00", "02:30"])
    _is_sent(scene, autumn, at=["02:30", "02:30", "02:30"])
    assert arrived(scene) == 6 * 50, f"{arrived(scene)} arrived, not 300"


def _nights_of_change() -> list[date]:
    """The next spring's and the next autumn's: days that have not 24 hours."""
    tomorrow = timezone.now().astimezone(BERLIN).date() + DAY
    lengths = {day: _clock(day + DAY, 0) - _clock(day, 0) for day in _a_year_from(tomorrow)}
    return [
        next(day for day, length in lengths.items() if length == DAY + change)
        for change in (-2 * STEP, 2 * STEP)
    ]


def _a_year_from(day: date) -> list[date]:
    return [day + n * DAY for n in range(367)]


def _clock(day: date, minutes: int) -> datetime:
    """As an instant: what hands and not hours differ by means nothing in such a night."""
    midnight = datetime.combine(day, clock_time(), BERLIN).astimezone(UTC)
    return midnight + timedelta(minutes=minutes)


def _is_sent(scene: Scene, night: date, *, at: list[str]) -> None:
    first = datetime.combine(night - DAY, clock_time(2, 30), BERLIN).astimezone(UTC)
    campaign = make_campaign(
        scene.project, schedule_kind="recurring", repeat="daily", at=first, timezone=BERLIN.key
    )
    control.launch(campaign, by="user:alice", now=first - DAY)
    for day in (night - DAY, night, night + DAY):
        for minutes in range(60, 330, 30):
            _sweep_twice(scene, campaign, _clock(day, minutes))
    runs = list(campaign.runs.filter(finished_at__isnull=False).order_by("scheduled_at"))
    scene.adopt(runs[-1])
    sent = [run.scheduled_at.astimezone(BERLIN).strftime("%H:%M") for run in runs]
    assert sent == at, f"around {night} it was sent at {sent}, not {at}"


def _sweep_twice(scene: Scene, campaign: Campaign, hour: datetime) -> None:
    """And wait for whom that started: the next would be left out meanwhile."""
    redis.Redis.from_url(settings.BROKER_URL).set(HOUR_OF_SWEEPS, hour.isoformat())
    for _ in range(2):
        tasks.sweep.delay()
    rung = timezone.now()
    scene.wait("it is swept", lambda: Tick.objects.filter(at__gt=rung).exists())
    going = campaign.runs.exclude(state="scheduled").filter(finished_at=None)
    scene.wait("what it started ends", lambda: not going.exists())
