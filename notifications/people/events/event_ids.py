"""Event ids: an event that is sent again with the same id is not written again.

Ids are remembered as long as their events are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.contrib.postgres.indexes import BrinIndex
from django.db import connection, models
from django.db.models.functions import Extract

from notifications.people.project import Project

AT_ONCE = 50_000  # rows in one transaction

# Inserted in one order, so that no two calls wait for each other. A call that waited sees the ids
# of the other.
TAKE = """
INSERT INTO notifications_eventid (project_id, digest, at)
SELECT %s, digest, at FROM unnest(%s::uuid[], %s::timestamptz[]) AS given (digest, at)
ORDER BY digest ON CONFLICT (project_id, digest) DO NOTHING RETURNING digest
"""
OLD = """
DELETE FROM notifications_eventid WHERE ctid = ANY(ARRAY(
    SELECT e.ctid FROM notifications_eventid e
    JOIN unnest(%s::bigint[], %s::timestamptz[]) AS old (project_id, before)
        ON e.project_id = old.project_id
    WHERE extract(epoch FROM e.at) < extract(epoch FROM old.before)
    LIMIT %s
))
"""


class EventId(models.Model):
    """The digest of an accepted event's id. It reveals nothing about a person."""

    pk = models.CompositePrimaryKey("project_id", "digest")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    digest = models.UUIDField()
    at = models.DateTimeField()  # of the event

    class Meta:
        indexes = [BrinIndex(Extract("at", "epoch"), name="event_ids_by_time")]

    def __str__(self) -> str:
        return f"{self.digest} of project {self.project_id}"


def digest_of(event_id: str) -> UUID:
    return UUID(bytes=blake2b(event_id.encode(), digest_size=16).digest())


def take(project_id: int, given: Sequence[tuple[UUID, datetime]]) -> set[UUID]:
    """Store ids in the transaction that writes their events. Returns the ids that are new.

    If the process dies here: neither the ids nor the events are there.
    """
    with connection.cursor() as cursor:
        digests, times = zip(*given, strict=True)
        cursor.execute(TAKE, [project_id, list(digests), list(times)])
        return {digest for (digest,) in cursor.fetchall()}


def remove_old(ends: dict[int, datetime | None]) -> Iterator[int]:
    """Remove the ids of old events step by step; yields how many each step removed.

    If the process dies here: what was removed is gone, and the next tick removes the rest.
    """
    finite = [(pk, end) for pk, end in ends.items() if end]
    params: list[Any] = [[pk for pk, _ in finite], [end for _, end in finite], AT_ONCE]
    removed = AT_ONCE if finite else 0
    while removed == AT_ONCE:
        with connection.cursor() as cursor:
            cursor.execute(OLD, params)
            removed = cursor.rowcount
        if removed:
            yield removed
