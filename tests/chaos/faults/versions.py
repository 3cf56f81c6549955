"""F63: workers of two releases side by side, as in the middle of a deployment."""

from __future__ import annotations

import signal

from config.celery import app
from tests.chaos.fault import fault
from tests.chaos.scene import Scene

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
