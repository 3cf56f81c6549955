"""F1–F9: processes that die, at every place where dying hurts."""

from __future__ import annotations

from tests.chaos.fault import fault
from tests.chaos.scene import Scene


@fault("F3", "child killed mid-send", failpoint="mid_send:kill:0.12", within=15, quick=True)
def killed_mid_send(scene: Scene) -> None:
    scene.launch()
    scene.finish()
