"""F1–F9: processes that die, at every place where dying hurts."""

from __future__ import annotations

import os
import signal
import time

from campaigns.runs.chunk import Chunk
from campaigns.runs.lapsing import LAPSES_ALLOWED
from tests.chaos.bugs.kills import POISONED
from tests.chaos.fault import fault
from tests.chaos.process import is_running
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL

# Dying before the window or after the settling leaves nobody in doubt.
NOBODY = 0


def _to_the_end(scene: Scene) -> None:
    scene.launch()
    scene.finish()


# The dice are loaded so that somebody dies, but not so often that 5 die in a row over a chunk or a
# part of it, or that the copies make the run stop itself at 1.2 × its people.
for _id, _point, _what, _more in (
    ("F1", "before_claim:kill:0.25", "children killed before their claim", {"per_kill": NOBODY}),
    ("F2", "after_claim:kill:0.15", "children killed after their claim", {"per_kill": NOBODY}),
    ("F2w", "window_opened:kill:0.03", "children killed with a window open", {"people": 16_000}),
    ("F3n", "mid_send:kill:0.03", "children killed mid-send, again and again", {"people": 16_000}),
    ("F4", "before_settle:kill:0.03", "children killed, answers in hand", {"people": 16_000}),
    ("F5", "after_settle:kill:0.3", "children killed before the ack", {"per_kill": NOBODY}),
):
    fault(_id, _what, **{"failpoint": _point, "people": 8_000, "within": 15, **_more})(_to_the_end)


def _until_the_first_death(name: str, scene: Scene, *, rung: bool = True) -> None:
    """It dies whenever it passes, until it is replaced by one that does not."""
    scene.launch(rung=rung)
    scene.until_killed()
    scene.renew(name)
    scene.healed()
    scene.finish()


def _in_mid_send(scene: Scene) -> None:
    _until_the_first_death("bulk", scene)


MID_SEND = {"failpoint": "mid_send:kill:0.08", "people": 8_000, "within": 15}
fault("F3", "child killed mid-send", quick=True, **MID_SEND)(_in_mid_send)
fault("F3h", "the same, never to send twice", on_unknown="hold", **MID_SEND)(_in_mid_send)


def _in_control(scene: Scene) -> None:
    _until_the_first_death("control", scene)


for _id, _point, _what in (
    ("F5a", "advance", "control killed between commit and ring"),
    ("F5p", "prepare", "control killed in the snapshot"),
    ("F5w", "wave_done", "control killed in the chord's callback"),
):
    fault(_id, _what, failpoint=f"{_point}:kill", per_kill=NOBODY, within=20)(_in_control)


@fault(
    "F5f",
    "control killed as it freezes part by part",
    failpoint="prepare:kill:0.3",
    different={"control": {"CHAOS_PLANTED": "small parts"}},
    per_kill=NOBODY,
    within=20,
)
def killed_between_parts(scene: Scene) -> None:
    _to_the_end(scene)
    assert scene.run.planned == scene.fault.people, f"{scene.run.planned} are in the snapshot"


@fault("F5s", "control killed in the sweep", failpoint="sweep:kill", per_kill=NOBODY, within=20)
def killed_in_the_sweep(scene: Scene) -> None:
    """The launch was never rung, so that only a sweep finds it."""
    _until_the_first_death("control", scene, rung=False)


@fault("F6", "Celery's main process killed", people=8_000, within=15)
def parent_killed(scene: Scene) -> None:
    """The kernel takes its children along; nobody is left who would work without a parent."""
    scene.launch()
    scene.until(0.3)
    orphans = scene.worker("bulk").children()
    scene.worker("bulk").kill_parent()
    scene.killed += POOL
    scene.healed()
    scene.wait("its children are gone", lambda: not any(map(is_running, orphans)), seconds=5)
    scene.start("bulk")
    scene.finish()


@fault("F6p", "power cut: worker and children killed", people=8_000, within=15)
def power_cut(scene: Scene) -> None:
    scene.launch()
    scene.until(0.3)
    scene.worker("bulk").kill()
    scene.killed += POOL
    scene.healed()
    scene.start("bulk")
    scene.finish()


SERVED = {name: {"LEASE_SECONDS": "30"} for name in ("bulk", "control")}


@fault("F6l", "the same with production's lease", people=8_000, within=70, different=SERVED)
def power_cut_in_production(scene: Scene) -> None:
    power_cut(scene)


@fault("F7", "child killed by its pid, three times", people=10_000, within=15)
def children_killed(scene: Scene) -> None:
    scene.launch()
    bulk, killed = scene.worker("bulk"), set[int]()
    for share in (0.1, 0.3, 0.5):
        scene.until(share)
        # Whom nobody has buried yet is still a child.
        scene.wait("the pool is whole", lambda: len({*bulk.children()} - killed) == POOL)
        victim = scene.stage.random.choice(sorted({*bulk.children()} - killed))
        os.kill(victim, signal.SIGKILL)
        killed.add(victim)
    scene.finish()
    assert scene.kills == 3, f"{scene.kills} died, not 3"


@fault(
    "F8",
    "a chunk that kills every worker",
    people=4_000,
    different={"bulk": {"CHAOS_PLANTED": "poison chunk", "LEASE_SECONDS": "6"}},
    ends="paused",
    per_kill=NOBODY,
    patience=180,
)
def poison_chunk(scene: Scene) -> None:
    """Quarantined after five deaths; everybody else is sent to; the run asks a person."""
    scene.launch()
    scene.until_state("paused")
    chunk = scene.run.chunks.get(state=Chunk.State.QUARANTINED)
    assert chunk.number == POISONED
    assert scene.run.cause == "quarantined", scene.run.cause
    assert scene.run.waiting == chunk.size, f"{scene.run.waiting} wait, not {chunk.size}"
    assert scene.kills == LAPSES_ALLOWED, f"{scene.kills} died, not {LAPSES_ALLOWED}"


@fault("F9", "cold shutdown (SIGQUIT), twice", people=14_000, within=15)
def cold_shutdown(scene: Scene) -> None:
    scene.launch()
    for share in (0.1, 0.5):
        scene.until(share)
        time.sleep(scene.stage.random.random())
        scene.stage.workers.pop("bulk").leave(signal.SIGQUIT)
        scene.killed += POOL
        scene.start("bulk")
    scene.healed()
    scene.finish()
