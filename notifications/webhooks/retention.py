"""Retention of calls: removes old entries of the log, and those of deleted endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q

from notifications.people.retention import Kept, Kind
from notifications.postgres.budget import statement_timeout
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint

AT_ONCE = 5_000
COUNTING_SECONDS = 1.0


def _ended_calls(project_id: int) -> Any:
    """The project's ended calls. A waiting call is not old, however long it has been waiting."""
    mine = Endpoint.objects.filter(project=project_id).values("pk")
    return Call.objects.filter(endpoint__in=mine).exclude(state=Call.State.WAITING)


def look(project_id: int, before: datetime | None) -> Kept:
    """Count a project's ended calls, and the old ones among them. Raises TooSlow."""
    older = Q(made_at__lt=before) if before else Q(pk=None)
    with statement_timeout(seconds=COUNTING_SECONDS):
        counts = _ended_calls(project_id).aggregate(
            there=Count("pk"),
            older=Count("pk", filter=older),
            next_at=Min("made_at", filter=~older),
        )
    return Kept(**counts)


def remove(ends: dict[int, datetime | None]) -> Iterator[int]:
    """Remove old calls, and calls of deleted endpoints; yields how many each step removed.

    If the process dies here: what was removed is gone, and the next pass removes the rest.
    """
    for project_id, end in ends.items():
        if end:
            yield from _in_parts(_ended_calls(project_id).filter(made_at__lt=end))
    endpoints = Endpoint.objects.filter(pk=OuterRef("endpoint"))
    yield from _in_parts(Call.objects.exclude(Exists(endpoints)))


def _in_parts(rows: Any) -> Iterator[int]:
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        Call.objects.filter(pk__in=ids).delete()
        yield len(ids)


KIND = Kind("reports", look, remove)
