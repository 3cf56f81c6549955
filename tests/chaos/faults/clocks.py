"""F15–F17, F19: beat that is away or there twice, clocks that are wrong, a database of yesterday.

F18, the night the clock is changed, needs no processes: tests/test_recurrence.py.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from campaigns import control
from campaigns.run import Run
from tests.builders import make_campaign
from tests.chaos.fault import CannotBePlayed, fault
from tests.chaos.faults.postgres_faults import arrived
from tests.chaos.scene import Scene

SCHEDULES = 50
FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))


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
    """A little late it starts once. Two hours late it asks a person, and so does an old dump
    that was restored (F19)."""
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


def _wrong_clock(scene: Scene, offset: str) -> dict[str, str]:
    """Read from a file, so that a clock can be right at the start and jump afterwards."""
    if not FAKETIME:
        raise CannotBePlayed("faketime is not installed")
    file = scene.stage.state.path / "clock"
    file.write_text(offset)
    return {
        "LD_PRELOAD": str(FAKETIME[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@fault("F17", "clock 5 min ahead: no start", people=0, workers=("control", "beat"), ends="")
def wrong_at_the_start(scene: Scene) -> None:
    planted = scene.fault.different.get("bulk.2", {})
    refused = scene.stage.prepare_worker("bulk.2", {**planted, **_wrong_clock(scene, "+5m")})
    try:
        refused.start_only()
        code = refused.wait(40)
        assert code, "it started although its clock is wrong"
        assert refused.said("ahead of PostgreSQL's"), "it did not say why"
    finally:
        scene.stage.end_worker("bulk.2")


@fault("F17j", "clock jumps 5 min ahead, then back", people=8_000, within=15)
def jumps(scene: Scene) -> None:
    """One of two workers. No lease is stolen, nobody is sent to twice."""
    planted = scene.fault.different.get("bulk.2", {})
    clock = _wrong_clock(scene, "+0")
    scene.stage.start_worker("bulk.2", {**planted, **clock})
    try:
        scene.launch()
        scene.until(0.2)
        file = Path(clock["FAKETIME_TIMESTAMP_FILE"])
        file.write_text("+5m")
        scene.until(0.5)
        file.write_text("+0")
        scene.healed()
        scene.finish()
        assert scene.worker("bulk.2").said("] succeeded in"), "the jumping one did nothing"
    finally:
        scene.stage.end_worker("bulk.2")
