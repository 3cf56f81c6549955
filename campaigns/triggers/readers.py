"""Automation readers: a person who recently caused the event, and the values that people lack."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.event import matching
from campaigns.texts import preview
from campaigns.triggers.automation import Automation
from campaigns.triggers.backtest import LOOKING_SECONDS, SPAN
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values import exact

NEWEST = 1_000  # newest events that are read

DID = """
WITH did AS (
    SELECT e.contact_id, e.at, e.properties FROM notifications_event e
    WHERE e.project_id = %s AND e.name = %s AND e.at >= %s AND e.at <= %s AND {matches}
    ORDER BY e.at DESC LIMIT %s
)
SELECT {columns} FROM did JOIN notifications_contact c ON c.id = did.contact_id
"""
LAST = "c.id, did.properties::text"
# A property of the event wins over the attribute of the same name, even if it is null.
VALUE = "CASE WHEN did.properties ? %s THEN did.properties ->> %s ELSE c.attributes ->> %s END"


@dataclass(frozen=True)
class Readers:
    """An example person, and how many people lack a value that the text needs.

    `person` has the event's properties among their attributes. `did`: the event happened lately.
    """

    person: Contact | None
    did: bool
    of: int  # events if `did`, else people
    lacking: dict[str, int]

    @property
    def warnings(self) -> list[str]:
        """Sentences that say how many messages would not be sent, for lack of which value."""
        text = (
            _(
                "Of the newest {of} events, {n} have no “{name}”, and their people have none "
                "either: these are sent nothing."
            )
            if self.did
            else _(
                "Of {of} people, {n} have no “{name}”: if the event does not bring it, these are "
                "sent nothing."
            )
        )
        return [
            text.format(of=f"{self.of:,}", n=f"{count:,}", name=name)
            for name, count in self.lacking.items()
            if count
        ]


def look(automation: Automation, *, now: datetime) -> Readers:
    content = automation.template.frozen()
    names = sorted({str(path[0]) for path in preview.needed(content)})
    with suppress(TooSlow), statement_timeout(seconds=LOOKING_SECONDS):
        if readers := _readers_of_events(automation, names, now):
            return readers
    total, counts = preview.missing(names, automation.project) if names else (0, [])
    lacking = dict(zip(names, counts, strict=True)) if total else {}
    return Readers(preview.pick_person(automation.project), False, total, lacking)


def _readers_of_events(automation: Automation, names: list[str], now: datetime) -> Readers | None:
    matches = matching(automation.where)
    since = now - SPAN
    events = [automation.project_id, automation.event_name, since, now, *matches.params]
    with connection.cursor() as cursor:
        last = DID.format(matches=matches.sql, columns=LAST)
        cursor.execute(f"{last} ORDER BY did.at DESC LIMIT 1", [*events, NEWEST])
        row = cursor.fetchone()
        if row is None:
            return None
        counts_sql, values = _lacking_counts_sql(names)
        cursor.execute(
            DID.format(matches=matches.sql, columns=counts_sql), [*events, NEWEST, *values]
        )
        total, *counts = cursor.fetchone()
    person = Contact.objects.filter(pk=row[0]).first()
    if person is not None:
        person.attributes = {**person.attributes, **exact.loads(row[1])}  # and never saved
    return Readers(person, True, total, dict(zip(names, counts, strict=True)))


def _lacking_counts_sql(names: list[str]) -> tuple[str, list[Any]]:
    values = [preview.OWN.get(name, VALUE) for name in names]
    counts = [f"count(*) FILTER (WHERE COALESCE({value}, '') = '')" for value in values]
    params = [param for name in names if name not in preview.OWN for param in (name, name, name)]
    return ", ".join(["count(*)", *counts]), params
