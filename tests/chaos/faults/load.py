"""F102: the project's servers fall silent, and Redis is emptied and taken away. F103: who asks
these servers is killed."""

from __future__ import annotations

import time
from bisect import bisect_left
from datetime import datetime
from pathlib import Path

from campaigns.engine import load
from notifications.pacing.load import Load
from notifications.people.project import Project
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL
from tests.given.forgetting import flush_all
from tests.servers.receiver import Receiver, receiving

SAFE, PLANNED = 100, 600  # messages a second
A_STEP = SAFE // 4
ON_THE_WAY = SAFE // 2  # what was let through, and was a little late
AWAY = 6  # seconds
KILLS = 3
LETS_US = {"OUTGOING_ALLOWED": "127.0.0.0/8,::1/128"}


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


@fault(
    "F103",
    "worker that asks the project's servers killed, and these say nothing for a while",
    people=3_000,
    workers=("control", "beat"),
    within=45,
)
def killed_asker(scene: Scene) -> None:
    """No second passes the last safe rate, and whoever sends next asks in the place of the dead."""
    with receiving(Path(scene.stage.state.emulator)) as servers:
        worker = LETS_US | {"OUTGOING_CA_FILE": servers.ca_file}
        worker |= scene.fault.different.get("bulk", {})
        servers.pages["/hooks?of=us"], servers.says = 200, b'{"level": 1}'
        Project.objects.filter(pk=scene.project.pk).update(
            floor_per_second=SAFE, load_url=servers.url
        )
        scene.project.refresh_from_db()
        load.reported(scene.project, 1.0)
        scene.stage.start_worker("bulk", worker)
        scene.launch(rate_per_second=PLANNED)
        servers.slow_seconds = 1.0
        for _ in range(KILLS):
            _wait_until_asked(scene, servers)
            scene.stage.end_worker("bulk")  # with the answer still to come
            scene.killed += POOL
            scene.stage.start_worker("bulk", worker)
        before = _said_at(scene)
        scene.wait("another one hears it", lambda: _said_at(scene) > before)
        servers.pages.clear()
        time.sleep(AWAY)
        servers.pages["/hooks?of=us"] = 200
        scene.healed()
        scene.finish()
        scene.stage.end_worker("bulk")
    fullest = _fullest_second(scene)
    assert fullest <= SAFE + A_STEP + ON_THE_WAY, f"{fullest} in a second, and {SAFE} are safe"


def _wait_until_asked(scene: Scene, servers: Receiver) -> None:
    heard = len(servers.heard)
    scene.wait("one asks", lambda: len(servers.heard) > heard)


def _said_at(scene: Scene) -> datetime:
    return Load.objects.get(project=scene.project.pk).reported_at


def _fullest_second(scene: Scene) -> int:
    scene.stage.fcm.witness()
    ours = f"{scene.run.pk}:"
    records = scene.stage.fcm.everything_witnessed()
    moments = sorted(record["at"] for record in records if str(record["id"]).startswith(ours))
    return max(end - bisect_left(moments, at - 1) for end, at in enumerate(moments, 1))
