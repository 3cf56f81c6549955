"""A run sent by hand, in this process: what its workers would do, one chunk after the other."""

from __future__ import annotations

from django.utils import timezone

from campaigns import engine, sending
from campaigns.run import Run


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
