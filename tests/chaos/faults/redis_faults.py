"""F20–F25: Redis restarts, forgets, fills up, hangs, is not there."""

from __future__ import annotations

from tests.chaos.fault import fault
from tests.chaos.scene import Scene, flush_all


@fault("F21", "FLUSHALL at half", people=5_000, within=30, quick=True)
def flushed(scene: Scene) -> None:
    scene.launch()
    scene.until(0.5)
    flush_all()
    scene.healed()
    scene.finish()
