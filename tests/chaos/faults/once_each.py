"""F105: workers killed and Redis emptied while a series goes only to those who have not had it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from campaigns import control
from campaigns.runs.run import Run
from tests.chaos.fault import fault
from tests.chaos.faults.caps import rung_by
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

SOON = timedelta(seconds=12)


@fault(
    "F105",
    "workers killed and Redis emptied while a series goes to those who have not had it",
    people=4_000,
    failpoint="before_settle:kill:0.1",
    on_unknown="hold",
)
def once_each(scene: Scene) -> None:
    """A run that is cancelled half way has reached some, and may have reached others; the next
    one rings none of these, and everybody else."""
    daily: dict[str, Any] = {"schedule_kind": "recurring", "repeat": "daily", "timezone": "UTC"}
    first = scene.launch(once_each=True, rate_per_second=500, at=_soon(), **daily)
    scene.wait("the first has begun", lambda: scene.share() > 0, seconds=60)
    scene.until(0.5)
    scene.until_killed()
    flush_all()
    control.cancel(scene.run, by="user:alice")
    scene.finish()
    following = Run.objects.get(campaign=first.campaign_id, state=Run.State.SCHEDULED)
    scene.adopt(following)
    control.move(following, _soon(), by="user:alice")
    scene.wait("the next has begun", lambda: scene.share() > 0, seconds=60)
    flush_all()
    scene.healed()
    scene.finish()
    by = rung_by(scene, [first.pk, following.pk])
    twice = [person for person, runs in by.items() if len(runs) > 1]
    assert not twice, f"{len(twice)} had it already, and were rung again"
    both = {run for runs in by.values() for run in runs}
    assert both == {first.pk, following.pk}, "only one of them rang anybody"


def _soon() -> datetime:
    return (datetime.now(UTC) + SOON).replace(microsecond=0)
