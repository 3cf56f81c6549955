"""What F12–F14 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("short visibility", fault="")
def _short_visibility() -> None:
    """Redis hands a task out again after five seconds, though it is still running."""
    from config.celery import app

    options = dict(app.conf.broker_transport_options)
    options |= {"visibility_timeout": 5, "unacked_restore_interval": 1}
    app.conf.broker_transport_options = options


@bug("two may hold a chunk", fault="F12")
def _two_may_hold_a_chunk() -> None:
    """Whoever is asked to send a chunk takes it, though another one is at it."""
    from campaigns.runs import chunk, claiming
    from campaigns.sending import sending

    claim = claiming.claim

    def take(run_id: int, number: int, *rest: Any, **more: Any) -> Any:
        leased = chunk.Chunk.objects.filter(run=run_id, number=number, state="leased")
        leased.update(state="queued", lease_until=None)
        return claim(run_id, number, *rest, **more)

    patch(sending, "claim", take)


@bug("a task is an order", fault="F5 F13")
def _a_task_is_an_order() -> None:
    """Whoever is asked to send a chunk sends all of it, done or not."""
    import re

    from campaigns.runs import chunk, claiming
    from campaigns.sending import sending, unsettled

    claim = claiming.claim
    patch(unsettled, "TO_SEND", re.sub(r"AND NOT EXISTS \([^)]*\)", "", unsettled.TO_SEND))

    def claim_whatever(run_id: int, number: int, *rest: Any, **more: Any) -> Any:
        closed = chunk.Chunk.objects.filter(run=run_id, number=number, state="closed")
        closed.update(state="queued")
        return claim(run_id, number, *rest, **more)

    patch(sending, "claim", claim_whatever)


@bug("the callback finishes the run", fault="F14e")
def _the_callback_finishes() -> None:
    """When the chord calls back, everybody without an outcome is called skipped."""
    from django.utils import timezone

    from campaigns import tasks
    from campaigns.runs.run import Run

    def finish(run_id: int) -> None:
        run = Run.objects.get(pk=run_id)
        totals = {"skipped": run.planned, "accepted": 0, "rejected": 0, "unknown": 0}
        run.move_to(Run.State.FINISHED, finished_at=timezone.now(), **totals)

    step = tasks.wave_done.run

    def call_back(results: Any, run_id: int, wave: int) -> None:
        finish(run_id)
        step(results, run_id=run_id, wave=wave)

    patch(tasks.wave_done, "run", call_back)


@bug("a callback counts once", fault="F5w")
def _a_callback_counts_once() -> None:
    """It is noted before it is done, the second one is ignored, and no sweep looks after it."""
    from django.utils import timezone

    from campaigns import tasks
    from campaigns.engine import engine
    from campaigns.runs.wave import Wave

    step = tasks.wave_done.run

    def call_back(results: Any, run_id: int, wave: int) -> None:
        fresh = Wave.objects.filter(run=run_id, number=wave, called_back_at=None)
        if fresh.update(called_back_at=timezone.now()):
            step(results, run_id=run_id, wave=wave)

    patch(tasks.wave_done, "run", call_back)
    patch(engine, "sweep", lambda now: [])
