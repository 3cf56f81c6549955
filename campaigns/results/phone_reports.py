"""What one person's phones reported, and what the person did for goals, for their export."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.db import connection

from campaigns.engagement.goal import Conversion, Touch
from campaigns.engagement.receipt import NAMES
from campaigns.results.sent import every_run, sent_to
from campaigns.runs import best_hour
from campaigns.runs.run import Run
from notifications.people.contact import Contact

TOLD = """
SELECT receipt.run_id, receipt.seq, receipt.event, receipt.at, receipt.phone_at
FROM unnest(%s::bigint[], %s::int[]) AS mine (run_id, seq)
JOIN campaigns_receipt receipt ON receipt.run_id = mine.run_id AND receipt.seq = mine.seq
ORDER BY receipt.run_id DESC, receipt.seq, receipt.at, receipt.event
"""


def receipts_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """All that their phones reported, in all runs; `at_phone` is the time on the phone's clock."""
    for runs in every_run(contact):
        mine = sent_to(contact.pk, runs)
        with connection.cursor() as cursor:
            cursor.execute(TOLD, [[row.run_id for row in mine], [row.seq for row in mine]])
            rows = cursor.fetchall()
        for run_id, seq, event, at, phone_at in rows:
            receipt = {"run": run_id, "seq": seq, "event": NAMES[event]}
            yield {**receipt, "at": at, "at_phone": phone_at}


def opens_of(contact: Contact) -> list[str]:
    """The hours in which they opened messages, on their own clock, as kept for their best hour."""
    return best_hour.stored_opens(contact.pk)


def goals_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """The runs with a goal that they opened (or received), and what they did that counts for it."""
    reached: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for conversion in Conversion.objects.filter(contact_id=contact.pk).order_by("at"):
        value = None if conversion.value is None else float(conversion.value)
        reached[conversion.run_id, conversion.seq].append({"at": conversion.at, "value": value})
    touches = list(Touch.objects.filter(contact_id=contact.pk).order_by("-at", "-run_id", "seq"))
    runs = Run.every.in_bulk({touch.run_id for touch in touches})
    for touch in touches:
        run = runs[touch.run_id]
        yield {
            "run": run.pk,
            "seq": touch.seq,
            "event": run.goal_event,
            "after": run.goal_after,
            "touched_at": touch.at,
            "reached": reached[touch.run_id, touch.seq],
        }
