"""Trigger retention: deletes old triggers, and exports a person's triggers.

If a person is erased, PostgreSQL deletes their triggers itself (see the migration).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.triggers.trigger import Trigger
from notifications.people.contact import Contact

AT_ONCE = 20_000  # rows in one transaction: about half a second

OLD = """
DELETE FROM campaigns_trigger WHERE id = ANY(ARRAY(
    SELECT t.id FROM campaigns_trigger t
    JOIN campaigns_automation a ON a.id = t.automation_id
    JOIN unnest(%s::bigint[], %s::timestamptz[]) AS old (project_id, before)
        ON a.project_id = old.project_id
    WHERE t.decided_at < old.before AND t.happened_at < old.before
    LIMIT %s
))
"""


def remove_old(ends: dict[int, datetime | None]) -> Iterator[int]:
    """Delete triggers whose events are no longer kept. A waiting one stays until it is decided.

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


def automations_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """A person's triggers, for the export of their data."""
    triggers = Trigger.objects.filter(contact_id=contact.pk).select_related("automation")
    return (
        {
            "automation": trigger.automation.name,
            "event": trigger.automation.event_name,
            "happened_at": trigger.happened_at,
            "due_at": trigger.due_at,
            "state": trigger.state,
            "reason": trigger.reason,
            "message": trigger.message,
        }
        for trigger in triggers.order_by("-pk").iterator(chunk_size=1_000)
    )
