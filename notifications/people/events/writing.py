"""Writing events: stores many events with a few statements.

If the process dies here: nothing of the call is committed, or all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from notifications.people.contact import validate_attributes
from notifications.people.events import event_ids, partitions
from notifications.people.events.months import of_all
from notifications.people.events.partitions import TABLE
from notifications.people.retention import days_of
from notifications.values import exact
from notifications.values.registry import Registry

MAX_PROPERTIES = 20
MAX_WRITTEN = 2_000  # bytes of JSON: a thousand events fit into a request, millions on a disk
AHEAD = timedelta(days=1)  # phone clocks may be wrong; by more than a day, they are broken
OLDEST_YEAR = 2000  # if events are kept for ever


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a person did, as the app reports it."""

    contact: str  # their external id
    name: str
    at: datetime
    properties: dict[str, Any] = field(default_factory=dict)
    id: str | None = None  # accepted once in a project


Written = Sequence[tuple[int, Event]]  # each with its person
# Called inside the transaction that writes the events.
on_events_written = Registry[Callable[[int, Written], object]]()


def validate_properties(properties: Any) -> None:
    """Refuse values that rules cannot handle, and properties too large for an event."""
    if not isinstance(properties, dict):
        raise ValidationError(gettext('properties must be an object, e.g. {"price": 12}.'))
    if len(properties) > MAX_PROPERTIES:
        text = gettext("At most %(most)s properties; there are %(count)s.")
        raise ValidationError(text % {"most": MAX_PROPERTIES, "count": len(properties)})
    validate_attributes(properties)
    if len(exact.dumps(properties)) > MAX_WRITTEN:
        text = gettext("All properties of an event together have at most %(most)s bytes of JSON.")
        raise ValidationError(text % {"most": f"{MAX_WRITTEN:,}"})


@dataclass(frozen=True)
class Span:
    """The times an event may have: older ones would be removed at once."""

    earliest: datetime
    latest: datetime
    days: int | None

    def problem(self, at: datetime) -> str:
        """What is wrong with a time, as a sentence; empty if nothing is."""
        if at > self.latest:
            return gettext("More than a day in the future; check the clock.")
        if at >= self.earliest:
            return ""
        if self.days is None:
            return gettext("Before the year %(year)s.") % {"year": OLDEST_YEAR}
        return gettext("Older than the %(days)s days events are kept.") % {"days": self.days}


def span_of(project_id: int, *, now: datetime) -> Span:
    days = days_of(project_id, "events")
    oldest = now.replace(OLDEST_YEAR, 1, 1)
    earliest = max(oldest, now - timedelta(days=days)) if days else oldest
    return Span(earliest, now + AHEAD, days)


@dataclass(frozen=True)
class Taken:
    """What was not written: the external ids of unknown people, and the number of events whose id
    was accepted before."""

    unknown: set[str]
    duplicates: int


def write(project_id: int, events: Sequence[Event]) -> set[str]:
    """Write events. Returns the external ids of unknown people, whose events are not written."""
    return take(project_id, events).unknown


def take(project_id: int, events: Sequence[Event]) -> Taken:
    """Write events, except those of unknown people and those whose id was accepted before.

    The people are locked until the transaction ends: an erasure waits, and then removes these
    events too.
    """
    with transaction.atomic():
        partitions.hold()
        partitions.make(of_all(event.at for event in events))
        people = _people(project_id, {event.contact for event in events})
        of_known = [(people[event.contact], event) for event in events if event.contact in people]
        accepted = _without_known(project_id, of_known)
        _append(project_id, accepted)
        for listener in on_events_written:
            listener(project_id, accepted)
    unknown = {event.contact for event in events} - people.keys()
    return Taken(unknown, duplicates=len(of_known) - len(accepted))


def _without_known(project_id: int, events: Written) -> Written:
    """The events without those whose id is known. Of several with the same id, the first stays."""
    first: dict[UUID, int] = {}
    for place, (_person, event) in enumerate(events):
        if event.id is not None:
            first.setdefault(event_ids.digest_of(event.id), place)
    if not first:
        return events
    given = [(digest, events[place][1].at) for digest, place in first.items()]
    new = {first[digest] for digest in event_ids.take(project_id, given)}
    return [one for place, one in enumerate(events) if one[1].id is None or place in new]


def _people(project_id: int, external_ids: Iterable[str]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT external_id, id FROM notifications_contact"
            " WHERE project_id = %s AND external_id = ANY(%s)"
            " ORDER BY external_id FOR KEY SHARE",
            [project_id, list(external_ids)],
        )
        return dict(cursor.fetchall())


COPY = f"COPY {TABLE} (project_id, contact_id, at, name, properties, received_at) FROM STDIN"
NULL = r"\N"


def _append(project_id: int, accepted: Written) -> None:
    """Write rows in PostgreSQL's text format, in one piece.

    psycopg would look up the type of each value, and take three times as long.
    """
    now = timezone.now()
    text = "".join(
        f"{project_id}\t{person}\t{event.at.isoformat()}\t{_escape(event.name)}\t"
        f"{_escape(exact.dumps(event.properties).decode())}\t"
        f"{now.isoformat() if event.at > now else NULL}\n"
        for person, event in accepted
    )
    if not text:
        return
    # COPY bypasses Django: without the wrapper, its errors would not be Django's.
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(COPY) as copy,
    ):
        copy.write(text)


def _escape(text: str) -> str:
    # A name has no tab or line break, and JSON writes one as \t or \n: so only backslashes need to
    # be doubled.
    return text.replace("\\", "\\\\")
