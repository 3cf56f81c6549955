"""Retention: deletes data older than its project keeps it. One table of kinds, one pass over all.

It keeps no state between passes: the rows themselves show what is too old. So a pass that was
missed, ended early or ran beside another one only delays the removal.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import OperationalError, connection
from django.db.models import Min, Sum

from campaigns.engine.forgetting import forget, forgettable, needed
from campaigns.runs.run import Run
from notifications.inbox import clearing as inbox
from notifications.people import old_imports
from notifications.people.events import clearing
from notifications.people.retention import Kept, Kind, ends_of_life
from notifications.postgres import clock
from notifications.webhooks import retention as outgoing

log = logging.getLogger(__name__)

SECONDS = 5.0  # of one pass; runs wait meanwhile


def _count_kept(project_id: int, before: datetime | None) -> Kept:
    """How many recipients exist and would be removed, by the totals of their runs."""
    existing = Run.kept.filter(project=project_id, planned__isnull=False, forgotten_at=None)
    ended = (
        existing.filter(finished_at__isnull=False)
        .exclude(state=Run.State.OPEN)
        .exclude(pk__in=needed(project_id))
    )
    older = ended.filter(finished_at__lt=before) if before else ended.none()
    later = ended.exclude(pk__in=older.values("pk"))
    return Kept(
        there=existing.aggregate(all=Sum("planned"))["all"] or 0,
        older=older.aggregate(all=Sum("planned"))["all"] or 0,
        next_at=later.aggregate(first=Min("finished_at"))["first"],
    )


def _forget_runs(ends: dict[int, datetime | None]) -> Iterator[int]:
    """Forget runs one at a time. A run that is locked for too long is left to the next pass."""
    for project_id, end in ends.items():
        if end is None:
            continue
        for run in forgettable(end, project=project_id).exclude(pk__in=needed(project_id)):
            try:
                forget(run, by="carillon", now=clock.now())
            except (OperationalError, Run.InvalidMove) as error:
                log.warning("run=%s is not forgotten yet: %s", run.pk, error)
            else:
                yield run.planned or 0


LEDGER = Kind("ledger", _count_kept, _forget_runs)
ALL = (LEDGER, clearing.KIND, old_imports.KIND, inbox.KIND, outgoing.KIND)
KINDS = {kind.name: kind for kind in ALL}


def delete_expired(*, now: datetime, seconds: float = SECONDS) -> bool:
    """Delete what is too old, for this many seconds. Returns whether more is left.

    Only one process works at a time: a second one would find the same rows. If the process dies
    here: each step is done completely or not at all, and the next pass does the rest.
    """
    with _alone() as alone:
        return alone and _run_pass(now, seconds)


@contextmanager
def _alone() -> Iterator[bool]:
    """Hold the lock of the pass; yields False if another process has it.

    If the process dies here: PostgreSQL frees the lock with its connection.
    """
    key = "hashtextextended('tidy', 0)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock({key})")
        free: bool = cursor.fetchone()[0]
    try:
        yield free
    finally:
        if free:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT pg_advisory_unlock({key})")


def _run_pass(now: datetime, seconds: float) -> bool:
    ends_at = time.monotonic() + seconds
    clearing.make_ahead(now=now)
    for kind in KINDS.values():
        removed = 0
        for count in kind.remove(ends_of_life(kind.name, now=now)):
            removed += count
            # Each pass begins with the first kind. A pass that ended before it had removed anything
            # would end at the same place again.
            if removed and time.monotonic() > ends_at:
                log.info("kind=%s removed=%s, and there is more", kind.name, removed)
                return True
        if removed:
            log.info("kind=%s removed=%s", kind.name, removed)
    clearing.analyze()
    return False
