"""Outbox: events to be reported, written in the transaction in which they happen.

There is one row for each commit and endpoint, whatever the number of events. At full speed, a
window's 200 outcomes cost one statement, and nothing if no endpoint wants them
(`Project.wanted_reports`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.postgres.functions import RandomUUID
from django.db import connection, models
from django.db.models.functions import Now
from psycopg.types.json import Jsonb

from notifications.values.registry import Registry
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import DISABLED

# Called inside the transaction that writes what is to be reported.
on_report_written = Registry[Callable[[], None]]()


class Outgoing(models.Model):
    """Events that are still to be sent to an endpoint. Deleted once they have become calls."""

    # No constraint: no transaction waits for an endpoint that is being deleted.
    endpoint = models.ForeignKey(
        Endpoint,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="outbox",
    )
    # Names its events. Random: after a restored backup, numbers would come twice.
    key = models.UUIDField(db_default=RandomUUID())
    events = models.JSONField()  # [{"type", "timestamp", "data"}, …]
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{len(self.events)} events"


def ripe(now: datetime) -> models.QuerySet[Outgoing]:
    """Rows that may become calls now. Those of an endpoint with batches wait for its next call."""
    resting = Endpoint.objects.filter(batched=True, rests_until__gt=now)
    return Outgoing.objects.exclude(endpoint__in=resting.values("pk"))


@dataclass(frozen=True)
class Event:
    """Something that happened, as it is reported to endpoints."""

    type: str
    at: datetime
    data: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"type": self.type, "timestamp": written(self.at), "data": self.data}


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# Gives each endpoint the events it wants, in their order.
PUT = """
INSERT INTO notifications_outgoing (endpoint_id, events)
SELECT endpoint.id, jsonb_agg(event ORDER BY place)
FROM notifications_endpoint endpoint, jsonb_array_elements(%(events)s) WITH ORDINALITY
    AS one (event, place)
WHERE endpoint.project_id = %(project)s AND endpoint.disabled_at IS NULL
    AND event ->> 'type' = ANY(endpoint.kinds)
    AND (%(about)s::bigint IS NULL OR endpoint.only = '{}' OR %(about)s = ANY(endpoint.only))
GROUP BY endpoint.id
"""


def put(project_id: int, events: Sequence[Event], *, about: int | None = None) -> int:
    """Write events to the outbox, inside the caller's transaction.

    Returns how many endpoints want them. `about`: the id of what they belong to, if anything.

    If the process dies before the commit: it did not happen, and nobody is told.
    After it: the rows are there, and the sweep looks for them.
    """
    payload: Any = Jsonb([event.as_json() for event in events])
    with connection.cursor() as cursor:
        cursor.execute(PUT, {"project": project_id, "events": payload, "about": about})
        hearing: int = cursor.rowcount
    if hearing:
        notify_workers()
    return hearing


def report_disabled_endpoint(endpoint: Endpoint, why: str, *, at: datetime) -> None:
    """Tell the project's Slack and e-mail endpoints that one was given up, wanted or not.

    Otherwise the people who wait for its reports would never know.
    """
    data = {"endpoint": endpoint.pk, "name": endpoint.name, "why": why}
    payload = [Event(DISABLED, at, data).as_json()]
    readers = Endpoint.objects.filter(project=endpoint.project_id, disabled_at=None)
    for reader in readers.exclude(via=Endpoint.Via.WEBHOOK).exclude(pk=endpoint.pk):
        Outgoing.objects.create(endpoint=reader, events=payload)
        notify_workers()


def notify_workers() -> None:
    for listener in on_report_written:
        listener()
