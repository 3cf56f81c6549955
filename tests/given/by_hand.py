"""A run sent by hand, in this process: what its workers would do, one chunk after the other."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from campaigns.sending import sending


def let_leases_lapse() -> None:
    """As if all workers had been silent for an hour, and somebody had looked meanwhile."""
    ago = timezone.now() - timedelta(hours=1)
    Chunk.objects.filter(state=Chunk.State.LEASED).update(lease_until=ago, doubted_at=ago)


def work(run: Run) -> Run:
    """Send chunk after chunk, with a look in between, until nothing is rung any more."""
    while True:
        queued = run.chunks.filter(state="queued").order_by("number").first()
        if queued:
            sending.send(run.pk, queued.number, run.epoch)
        rung = engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()
        idle = rung is None and not run.chunks.filter(state="queued").exists()
        if idle or run.state == "paused":
            return run


def send_everything(run: Run) -> dict[str, int]:
    return sending.send(run.pk, 1, run.epoch)
