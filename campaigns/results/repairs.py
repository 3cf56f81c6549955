"""Repairs and stalled runs, for monitoring: what went wrong and recovered, and what is stuck."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from campaigns.runs.wave import Wave

A_DAY = timedelta(days=1)
STANDS_STILL = timedelta(seconds=60)


def repairs(runs: QuerySet[Run], now: datetime) -> dict[str, int]:
    """Count repairs in a day's runs, from their rows. Each means a lost task or a dead worker."""
    recent = runs.filter(launched_at__gt=now - A_DAY)
    chunks = Chunk.objects.filter(run__in=recent)
    return {
        "taken_over": chunks.filter(lapses__gt=0).count(),
        "quarantined": chunks.filter(state=Chunk.State.QUARANTINED).count(),
        "without_callback": Wave.objects.filter(
            run__in=recent.filter(finished_at__isnull=False), called_back_at=None
        ).count(),
    }


def stalled(now: datetime) -> QuerySet[Run]:
    """Runs that have had work to do for a minute while no worker did it."""
    long_ago = now - STANDS_STILL
    of_run = Chunk.objects.filter(run=OuterRef("pk"))
    worked_on = Exists(of_run.filter(state=Chunk.State.LEASED, lease_until__gt=now))
    queued = Q(state=Chunk.State.QUEUED, queued_at__lt=long_ago)
    waiting = Q(state=Chunk.State.WAITING) & (Q(not_before=None) | Q(not_before__lt=long_ago))
    sending = Q(state=Run.State.SENDING, started_at__lt=long_ago) & Exists(
        of_run.filter(queued | waiting)
    )
    preparing = Q(state=Run.State.PREPARING, scheduled_at__lt=long_ago)
    return Run.objects.filter(~worked_on, sending | preparing, finished_at=None)
