"""Messages: what a day's run needs that no campaign's does. It is never advanced: whoever sends
takes what is due by itself, and the sweep looks after what was left behind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import ExpressionWrapper, F, QuerySet, fields
from django.db.models.functions import Now

from campaigns.engine import cancelling
from campaigns.runs import sums
from campaigns.runs.chunk import NEXT_SWEEP, Chunk, free_lapsed
from campaigns.runs.claiming import Claim
from campaigns.runs.messages import day, many
from campaigns.runs.messages.message import Message, forget_keys
from campaigns.runs.messages.taking import take
from campaigns.runs.run import Run
from campaigns.sending.inbox import of_messages
from notifications.postgres.outage import patiently

MOST_TIMERS = 20
LOOK_EVERY = 0.5  # seconds: at the projects, as people change their settings meanwhile


def due(*, seconds: float) -> Iterator[Claim]:
    """Chunk after chunk of what is due, a project after the other, as long as there is any."""
    began = looked_at = time.monotonic()
    days, found = _days(), True
    while found and time.monotonic() < began + seconds:
        if time.monotonic() > looked_at + LOOK_EVERY:
            days, looked_at = _days(), time.monotonic()
        found = False
        for run in days:
            if taken := _taken(run):
                found = True
                yield taken


def next_of_many() -> Claim | None:
    """A chunk of what goes to thousands: of another project as often as not."""
    days = _days()
    random.shuffle(days)
    return next((taken for run in days if (taken := _taken(run, bulk=True))), None)


def _days() -> list[Run]:
    return patiently(lambda: list(day.open_runs().select_related("project")))


def _taken(run: Run, *, bulk: bool = False) -> Claim | None:
    return patiently(lambda: take(run, of_messages.keep, bulk=bulk))


def many_wait() -> bool:
    """Whether any of these are due, or to be tried again."""
    due = Message.objects.filter(state=Message.State.WAITING, bulk=True, at__lte=Now())
    return due.exists() or _open_chunks(bulk=True).exists()


def unfold(*, seconds: float) -> bool:
    """Give the members of long lists their messages, for a while. Whether there is more to do."""
    ends_at = time.monotonic() + seconds
    for run_id, number in many.unfolding():
        while many.unfold(run_id, number):
            if time.monotonic() >= ends_at:
                return True
    return False


def due_soon() -> list[float]:
    """In how many seconds messages come due for which the next sweep would be late; 0 for what is
    due already."""
    waits = ExpressionWrapper(F("at") - Now(), output_field=fields.DurationField())
    waiting = Message.objects.filter(
        state=Message.State.WAITING, bulk=False, at__lt=Now() + NEXT_SWEEP
    )
    soon = waiting.order_by("at").values_list(waits, flat=True)[:MOST_TIMERS]
    return sorted({max(0.0, round(left.total_seconds(), 2)) for left in soon}) or (
        [0.0] if _open_chunks(bulk=False).exists() else []
    )


def _open_chunks(*, bulk: bool) -> QuerySet[Chunk]:
    return Chunk.objects.filter(
        run__in=day.open_runs(), bulk=bulk, state__in=(Chunk.State.WAITING, Chunk.State.QUEUED)
    )


def look_after(now: datetime) -> None:
    """What workers that died left behind is to be sent again; a day that is over ends."""
    for run in day.open_runs():
        with transaction.atomic():
            free_lapsed(run)
        _end_quarantined(run, now)
        Run.every.filter(pk=run.pk).update(**sums.sums_of(run))
        day.close(run, now)
    forget_keys()


def _end_quarantined(run: Run, now: datetime) -> None:
    """Five workers died over them, and nobody is asked about single messages: who is left is
    skipped, or unknown where a request may have left."""
    with transaction.atomic():
        stuck = run.chunks.filter(state=Chunk.State.QUARANTINED)
        for chunk in stuck.select_for_update(skip_locked=True):
            cancelling.close(run, chunk, now)
