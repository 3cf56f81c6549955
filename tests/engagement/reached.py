"""A goal told of through the doors, and counted again from the rows alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection
from django.utils import timezone

from campaigns.engagement.goal import GoalSum
from campaigns.engagement.receipt import Event, Receipt, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.events import writing
from notifications.people.project import Project
from tests.given.builders import make_run

BEGAN = timedelta(hours=10)  # so long ago all runs of these tests began
START = (timezone.now() - BEGAN).replace(microsecond=0)


def minute(number: float) -> datetime:
    """So many since the runs began."""
    return START + timedelta(minutes=number)


def make_goal(project: Project, event: str = "bought", **values: Any) -> Run:
    """A run that began ten hours ago: “bought” within an hour of opening it, by its price."""
    given: dict[str, Any] = {"goal_within_seconds": 3_600, "goal_value": "price", **values}
    run = make_run(project, goal_event=event, **given)
    Run.objects.filter(pk=run.pk).update(started_at=START)
    run.refresh_from_db()
    return run


def tells(run: Run, at: float | None, event: Event = Event.OPENED, seq: int = 1) -> None:
    """A phone, of the minute on its own clock."""
    keep([Report(run.pk, seq, event, None if at is None else minute(at))])


def does(who: Contact, at: float, name: str = "bought", **properties: Any) -> None:
    event = writing.Event(who.external_id, name, minute(at), properties)
    assert writing.write(who.project_id, [event]) == set()


@dataclass
class Reached:
    """What came of a run's goal."""

    recipients: int = 0
    times: int = 0
    amount: Decimal = field(default_factory=Decimal)


def summed(run: Run, by: str = "") -> dict[str, Reached]:
    rows = GoalSum.objects.filter(run_id=run.pk, by=by)
    found = {row.value: Reached(row.recipients, row.times, row.amount) for row in rows}
    return {value: one for value, one in found.items() if one != Reached()}


def reached(run: Run) -> tuple[int, int, int]:
    one = summed(run).get("", Reached())
    return one.recipients, one.times, int(one.amount)


def by_rows(run: Run, by: str = "") -> dict[str, Reached]:
    """Of every event the last touch before it, by trying all."""
    found: dict[str, Reached] = {}
    seen: Counter[tuple[int, str]] = Counter()
    recipients = {row.seq: row for row in Recipient.objects.filter(run_id=run.pk)}
    for seq, at, price in _conversions(run):
        slot = str(int((at - START).total_seconds() // 600))
        value = slot if by == "after" else by and (getattr(recipients[seq], by) or "")
        one = found.setdefault(value, Reached())
        one.times += 1
        one.amount += price
        seen[seq, value] += 1
        one.recipients += by != "after" and seen[seq, value] == 1
    return found


def _conversions(run: Run) -> list[tuple[int, datetime, Decimal]]:
    touches = _touches()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT contact_id, at, name, COALESCE((properties ->> 'price')::numeric, 0)"
            " FROM notifications_event"
        )
        events = cursor.fetchall()
    found = []
    for contact_id, at, name, price in events:
        before = [
            (touched_at, run_id, seq)
            for touched_at, run_id, seq, person, goal, within in touches
            if (person, goal) == (contact_id, name)
            and timedelta() <= at - touched_at < timedelta(seconds=within)
        ]
        if before and max(before)[1] == run.pk:
            found.append((max(before)[2], at, price))
    return found


def _touches() -> list[tuple[datetime, int, int, int, str, int]]:
    first: dict[tuple[int, int], tuple[datetime, int, int, int, str, int]] = {}
    runs = {run.pk: run for run in Run.objects.exclude(goal_event="")}
    who = dict(Recipient.objects.values_list("pk", "contact_id"))
    for receipt in Receipt.objects.filter(run_id__in=runs):
        run = runs[receipt.run_id]
        if run.goal_after == "received" or receipt.event == Event.OPENED:
            said, heard = receipt.phone_at, receipt.at
            at = said if said and run.started_at and run.started_at <= said <= heard else heard
            person = who[run.pk, receipt.seq]
            within = run.goal_within_seconds
            one = (at, run.pk, receipt.seq, person, run.goal_event, within)
            key = run.pk, receipt.seq
            first[key] = min(one, first.get(key, one))
    return list(first.values())
