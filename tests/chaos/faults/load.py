"""F102: the project's servers fall silent, and Redis is emptied and taken away."""

from __future__ import annotations

import time
from bisect import bisect_left

from campaigns.engine import load
from notifications.people.project import Project
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

SAFE, PLANNED = 100, 600  # messages a second
A_STEP = SAFE // 4
ON_THE_WAY = SAFE // 2  # what was let through, and was a little late
AWAY = 6  # seconds


@fault(
    "F102",
    "Redis emptied and away while the servers do not say how busy they are",
    people=3_000,
    within=30,
)
def silent_reporter(scene: Scene) -> None:
    """No second at FCM passes the last safe rate, whatever Redis has forgotten."""
    Project.objects.filter(pk=scene.project.pk).update(floor_per_second=SAFE)
    scene.project.refresh_from_db()
    load.reported(scene.project, 1.0)
    scene.launch(rate_per_second=PLANNED)
    scene.until(0.1)
    for _ in range(4):
        flush_all()
        time.sleep(0.7)
    valkey = scene.stage.valkey
    valkey.kill()
    time.sleep(AWAY)
    valkey.start()
    scene.healed()
    scene.finish()
    fullest = _fullest_second(scene)
    assert fullest <= SAFE + A_STEP + ON_THE_WAY, f"{fullest} in a second, and {SAFE} are safe"


def _fullest_second(scene: Scene) -> int:
    scene.stage.fcm.witness()
    ours = f"{scene.run.pk}:"
    records = scene.stage.fcm.everything_witnessed()
    moments = sorted(record["at"] for record in records if str(record["id"]).startswith(ours))
    return max(end - bisect_left(moments, at - 1) for end, at in enumerate(moments, 1))
