"""F69: programs, clerks and workers write the same fifty people while a run is under way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.chaos.fault import fault
from tests.chaos.scene import Scene, query
from tests.given.crowd import Crowd

SECONDS = 15


@fault("F69", "everybody writes the same 50 people", people=3_000)
def crowded(scene: Scene) -> None:
    """Whoever meets another waits; who is in the run is in it once."""
    door = scene.door()
    crowd = Crowd(
        scene.project, lambda method, path, body: door.api(path, body, method).status, seed=69
    )
    assert crowd.bring_everybody() == 200
    with ThreadPoolExecutor(1) as thread:
        raging = thread.submit(crowd.rage, SECONDS)
        scene.launch()
        scene.finish()
        raging.result()
    assert not crowd.wrong, f"heard what nobody should: {crowd.wrong}"
    _everybody_once(scene)


def _everybody_once(scene: Scene) -> None:
    in_it = query("SELECT device_id FROM campaigns_recipient WHERE run_id = %s", scene.run.pk)
    frozen = {device for (device,) in in_it}
    assert len(frozen) == len(in_it), f"{len(in_it) - len(frozen)} devices are in it twice"
    left_out = {device.pk for device in scene.devices} - frozen
    assert not left_out, f"{len(left_out)} devices were left out"
