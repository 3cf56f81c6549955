"""Clearing: removes old and expired items. A trigger removes each text with its last item."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, Q
from django.db.models.functions import Now

from notifications.inbox.item import InboxItem
from notifications.inbox.text import InboxText
from notifications.people.retention import Kept, Kind
from notifications.postgres.budget import statement_timeout

AT_ONCE = 5_000  # items in one transaction: about 0.2 s
COUNTING_SECONDS = 1.0


def look(project_id: int, before: datetime | None) -> Kept:
    """Count a project's items, and the old ones among them. Raises TooSlow."""
    older = Q(created_at__lt=before) if before else Q(pk=None)
    with statement_timeout(seconds=COUNTING_SECONDS):
        counts = InboxItem.objects.filter(project=project_id).aggregate(
            there=Count("pk"),
            older=Count("pk", filter=older),
            next_at=Min("created_at", filter=~older),
        )
    return Kept(**counts)


def remove(ends: dict[int, datetime | None]) -> Iterator[int]:
    """Remove expired and old items; yields how many each step removed.

    If the process dies here: what was removed is gone, and the next pass removes the rest.
    """
    yield from _in_parts(InboxItem.objects.filter(expires_at__lt=Now()))
    for project_id, end in ends.items():
        if end:
            of_project = {"project": project_id, "created_at__lt": end}
            yield from _in_parts(InboxItem.objects.filter(**of_project))
            # If two transactions removed the last items of a text at once, its trigger left it.
            for _ in _in_parts(InboxText.objects.filter(inboxitem=None, **of_project)):
                yield 0


def _in_parts(rows: Any) -> Iterator[int]:
    """Delete rows part by part. A row that is locked, as it is being marked, waits for the next
    pass."""
    while True:
        with transaction.atomic():
            held = rows.select_for_update(skip_locked=True, of=("self",))
            ids = list(held.values_list("pk", flat=True)[:AT_ONCE])
            rows.model.objects.filter(pk__in=ids).delete()
        if not ids:
            return
        yield len(ids)


KIND = Kind("inbox", look, remove)
