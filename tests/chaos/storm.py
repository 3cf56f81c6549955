"""The storm: one large run, and every so many seconds one fault after the other, drawn by chance.

Not one of the matrix: `python -m tests.chaos --storm --recipients 400000`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace

from django.db import connection

from campaigns import control, tasks
from campaigns.runs.run import Run
from notifications.task_queue import enqueue_on_commit
from tests.chaos.fault import Fault
from tests.chaos.faults.postgres_faults import WHAT_WAS_OUT, restart_postgres
from tests.chaos.owner import alter, order, reset
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL
from tests.given.forgetting import flush_all

Deed = Callable[[Scene], None]


def storm(*, recipients: int, every: float) -> Fault:
    what = f"a storm: a fault every {every:.0f} s"
    return Fault("STORM", what, lambda scene: _rage(scene, every), people=recipients, patience=120)


def _rage(scene: Scene, every: float) -> None:
    scene.launch()
    scene.until(0.01, seconds=120)
    played = 0
    while not _over(scene, every):
        if not played % len(DEEDS):
            shuffled = scene.stage.random.sample(DEEDS, len(DEEDS))
        deed = shuffled[played % len(DEEDS)]
        played += 1
        print(f"      {scene.share():4.0%}  {(deed.__doc__ or '').strip()}", flush=True)
        deed(scene)
    scene.healed()
    scene.finish()
    answers = scene.stage.fcm.counts()["by_answer"]
    _may_be_twice(scene, int(answers.get("RESET", 0)))
    assert played, "it was over before the first fault"


def _over(scene: Scene, every: float) -> bool:
    """Wait for the next fault, as those do who look after a run: start what ended, resume it."""
    ends = time.monotonic() + every
    while time.monotonic() < ends and not scene.ended():
        scene.killed += POOL * sum(name.startswith("bulk") for name in scene.stage.tend())
        if scene.run.state == Run.State.PAUSED:
            control.resume(scene.run, by="user:alice")
            enqueue_on_commit(tasks.advance, run_id=scene.run.pk)
        time.sleep(0.2)
    return scene.ended()


def _may_be_twice(scene: Scene, more: int) -> None:
    scene.fault = replace(scene.fault, twice=scene.fault.twice + more)


# --- What may happen ------------------------------------------------------------------------------


def _kill_a_child(scene: Scene) -> None:
    """a child is killed"""
    os.kill(scene.stage.random.choice(scene.worker("bulk").children()), signal.SIGKILL)


def _kill_the_worker(scene: Scene) -> None:
    """a worker is killed with its children"""
    scene.worker("bulk").kill()


def _kill_control(scene: Scene) -> None:
    """control and beat are killed"""
    for name in ("control", "beat"):
        scene.worker(name).kill()


def _deploy(scene: Scene) -> None:
    """a worker leaves politely and comes back"""
    scene.stage.workers.pop("bulk").leave()
    scene.start("bulk")


def _freeze(scene: Scene) -> None:
    """a worker stands still for 12 s"""
    frozen = scene.worker("bulk")
    frozen.freeze()
    scene.killed += len(frozen.children())
    time.sleep(12)
    frozen.thaw()


def _flush(scene: Scene) -> None:
    """FLUSHALL"""
    flush_all()


def _restart_redis(scene: Scene) -> None:
    """Redis is killed and comes back after 3 s"""
    scene.stage.valkey.kill()
    time.sleep(3)
    scene.stage.valkey.start()


def _restart_postgres(scene: Scene) -> None:
    """PostgreSQL restarts (immediate) after 3 s"""
    restart_postgres(scene, away_seconds=3)
    _may_be_twice(scene, WHAT_WAS_OUT)


def _cut_connections(scene: Scene) -> None:
    """PostgreSQL hangs up on everybody"""
    connection.close()
    order("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def _only_read(scene: Scene) -> None:
    """PostgreSQL takes no writes for 5 s"""
    alter("default_transaction_read_only = on")
    time.sleep(5)
    reset("default_transaction_read_only")


def _fail(scene: Scene) -> None:
    """FCM says 500 to every third for 5 s"""
    scene.stage.fcm.script("answer", answer="internal", share=33, **{"for": 5})


def _break_off(scene: Scene) -> None:
    """FCM takes every tenth and hangs up for 3 s"""
    scene.stage.fcm.script("reset", accepted=True, share=10, **{"for": 3})


def _push_back(scene: Scene) -> None:
    """FCM says 429, and to come back in 5 s"""
    scene.stage.fcm.script("answer", answer="quota", retry_after=5, **{"for": 5})


def _hang(scene: Scene) -> None:
    """FCM does not answer for 5 s"""
    scene.stage.fcm.script("hang", seconds=30, **{"for": 5})


def _revoke(scene: Scene) -> None:
    """FCM revokes every token"""
    scene.stage.fcm.revoke()


def _pause(scene: Scene) -> None:
    """somebody pauses the run"""
    if not scene.ended():
        control.pause(scene.run, by="user:bob")


DEEDS: tuple[Deed, ...] = (
    *(_kill_a_child, _kill_the_worker, _kill_control, _deploy, _freeze),
    *(_flush, _restart_redis, _restart_postgres, _cut_connections, _only_read),
    *(_fail, _break_off, _push_back, _hang, _revoke, _pause),
)
