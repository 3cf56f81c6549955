"""F63, F70: workers of two releases side by side, as in the middle of a deployment."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from config.celery import app
from tests.chaos.fault import CannotBePlayed, fault
from tests.chaos.process import Process
from tests.chaos.scene import Scene
from tests.upgrade import previous_release

NEWER = {
    "control": {"CHAOS_PLANTED": "rings with a word more"},
    "bulk.2": {"CHAOS_PLANTED": "understands a word more"},
}
REFUSED = "unexpected keyword argument 'hint'"


@fault("F63", "an old worker, rung by a newer release", people=3_000, different=NEWER, patience=90)
def old_and_new(scene: Scene) -> None:
    """What it cannot understand it drops, and stays; the new one that follows does everything."""
    old = scene.worker("bulk")
    app.send_task("campaigns.tasks.of_the_future", kwargs={"run_id": 1}, queue="bulk")
    scene.launch()
    scene.wait("it is rung", lambda: old.said(REFUSED))
    scene.wait("it does not know the task", lambda: old.said("unregistered task"))
    assert old.alive, "it died of what it did not understand"
    assert not scene.share(), "it did half of what it did not understand"
    scene.start("bulk.2")
    scene.stage.workers.pop("bulk").leave(signal.SIGTERM)
    scene.healed()
    scene.finish()


POOLS = ("bulk", "control")
TROUBLE = ("Traceback", " ERROR ", "unregistered task")


@fault(
    "F70", "the previous release, on this one's tables", people=6_000, workers=POOLS, patience=90
)
def the_release_before(scene: Scene) -> None:
    """Its workers take a run over in the middle, and this release's take it back."""
    if reason := previous_release.missing():
        raise CannotBePlayed(reason)
    before = previous_release.unpack(scene.stage.state.path / "release-before")
    scene.launch(rate_per_second=600)
    scene.until(0.2)
    older = [_of(before, f"{name}.before", scene) for name in POOLS]
    for name in POOLS:
        scene.stage.workers.pop(name).leave()
    scene.until(0.6)
    for name in POOLS:
        scene.start(name)
        scene.stage.workers.pop(f"{name}.before").leave()
    scene.finish()
    for worker in older:
        assert worker.said("succeeded in"), f"{worker.name} did nothing"
        said = [words for words in TROUBLE if worker.said(words)]
        assert not said, f"{worker.name} said {', '.join(said)}; see {worker.log}"


def _of(checkout: Path, name: str, scene: Scene) -> Process:
    """A worker whose code lies there."""
    worker = scene.stage.prepare_worker(name)
    argv = ("env", "-C", str(checkout), *worker.service.argv)
    worker.service = replace(worker.service, argv=argv)
    worker.start()
    return worker
