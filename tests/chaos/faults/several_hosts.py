"""Servers on one host, workers on two others: a cable is pulled, and plugged in again."""

from __future__ import annotations

from tests.chaos.fault import fault
from tests.chaos.hosts import hosts
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL

LEASE = {"LEASE_SECONDS": "6"}


@fault(
    "F32n",
    "host of a worker loses its network",
    people=8_000,
    workers=("control", "beat"),
    different={"bulk.h1": LEASE, "bulk.h2": LEASE, "control": LEASE},
    within=20,
)
def unplugged(scene: Scene) -> None:
    """The other host finishes the run. The returning zombie writes nothing."""
    different = scene.fault.different
    with hosts(scene.stage, 2) as (first, second):
        try:
            first.start_worker("bulk.h1", dict(different["bulk.h1"]))
            second.start_worker("bulk.h2", dict(different["bulk.h2"]))
            scene.launch()
            scene.until(0.2)
            first.cut()
            scene.killed += POOL
            scene.healed()
            scene.finish()
            first.mend()
            zombie = scene.worker("bulk.h1")
            scene.wait("it notices", lambda: zombie.said("] succeeded in"), seconds=90)
        finally:
            for name in ("bulk.h1", "bulk.h2"):
                if name in scene.stage.workers:
                    scene.stage.end_worker(name)
