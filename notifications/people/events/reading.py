"""Reading events: the events of one person, and the names and properties of a project's events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from notifications.people.contact import Contact
from notifications.people.events.partitions import TABLE
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values import exact

NEWEST = 20
AT_ONCE = 1_000
LOOKING_SECONDS = 2.0
MAX_NAMES = 200
LATELY = timedelta(days=90)
EVENTS_READ = 5_000
MOST_PROPERTIES = 100
SUGGESTED = 20
LONGEST_VALUE = 100


@dataclass(frozen=True)
class Did:
    """One event of a person, as it is read."""

    at: datetime
    name: str
    properties: dict[str, Any]


@dataclass(frozen=True)
class Property:
    """A property of events of one name: what percentage has it, and its types."""

    name: str
    percent: int
    types: list[str]  # the most frequent first: text, number, boolean, list, object


@dataclass(frozen=True)
class Value:
    """A value that occurs in a property. `exact` keeps its type: 5 is not “5”."""

    exact: str | float | bool
    percent: int


# --- Of one person --------------------------------------------------------------------------------

OF_PERSON = f"""
SELECT at, name, properties::text FROM {TABLE} WHERE contact_id = %s ORDER BY at DESC
"""
# Events have no id. Those at the same moment are in the same partition, so the row's physical
# position orders them. Events are never changed, so it stays the same.
OLDER = f"""
SELECT at, name, properties::text, ctid::text FROM {TABLE}
WHERE contact_id = %(person)s AND at <= %(at)s AND (at, ctid) < (%(at)s, %(place)s::tid)
ORDER BY at DESC, ctid DESC LIMIT %(most)s
"""
AFTER_ALL = "infinity", "(4294967295,65535)"


def newest_of(contact_id: int, most: int = NEWEST) -> list[Did]:
    with connection.cursor() as cursor:
        cursor.execute(f"{OF_PERSON} LIMIT %s", [contact_id, most])
        return list(map(_as_did, cursor.fetchall()))


def all_of(contact_id: int) -> Iterator[Did]:
    """All events of a person for an export, newest first.

    They are read in pages, so that no statement or transaction stays open during a long download.
    """
    at, place = AFTER_ALL
    while True:
        params: dict[str, Any] = {"person": contact_id, "at": at, "place": place, "most": AT_ONCE}
        with connection.cursor() as cursor:
            cursor.execute(OLDER, params)
            rows = cursor.fetchall()
        yield from (_as_did(row[:3]) for row in rows)
        if len(rows) < AT_ONCE:
            return
        at, *_rest, place = rows[-1]


def events_of(contact: Contact) -> Iterator[dict[str, Any]]:
    return (
        {"name": did.name, "at": did.at, "properties": did.properties} for did in all_of(contact.pk)
    )


def _as_did(row: Any) -> Did:
    at, name, properties = row
    return Did(at, name, exact.loads(properties))


# --- Of a project ---------------------------------------------------------------------------------

# Jumps from one name to the next in the index: one step per name, however many events.
NAMES = f"""
WITH RECURSIVE found AS (
    SELECT min(name) AS name FROM {TABLE} WHERE project_id = %(project)s
    UNION ALL
    SELECT (SELECT min(name) FROM {TABLE} WHERE project_id = %(project)s AND name > found.name)
    FROM found WHERE found.name IS NOT NULL
)
SELECT name FROM found WHERE name IS NOT NULL LIMIT %(most)s
"""
TYPE = "CASE jsonb_typeof(value) WHEN 'string' THEN 'text' WHEN 'array' THEN 'list' " \
       "ELSE jsonb_typeof(value) END"  # fmt: skip
SOME = f"(SELECT properties FROM {TABLE} WHERE project_id = %s AND name = %s AND at > %s LIMIT %s)"
FILLED = "jsonb_typeof(value) <> 'null' AND value <> '\"\"'"


def names(project_id: int) -> list[str]:
    """The names of a project's events, in alphabetical order."""
    params = {"project": project_id, "most": MAX_NAMES}
    return [row[0] for row in _looked_up(NAMES, params)]


def ever(project_id: int, name: str) -> bool:
    """Whether there is any event of this name; True if finding out takes too long."""
    query = f"SELECT EXISTS (SELECT FROM {TABLE} WHERE project_id = %s AND name = %s)"
    return all(row[0] for row in _looked_up(query, [project_id, name]))


@dataclass(frozen=True)
class Numbers:
    """How many recent events of one name have a property, and in how many it is a number."""

    events: int
    held: int
    numbers: int


def numbers(project_id: int, name: str, property: str, *, now: datetime) -> Numbers | None:
    """Count recent events with this property; None: counting takes too long."""
    rows = _looked_up(
        f"SELECT count(*), count(*) FILTER (WHERE {FILLED}),"
        " count(*) FILTER (WHERE jsonb_typeof(value) = 'number')"
        f" FROM {SOME} e, LATERAL (SELECT e.properties -> %s) held(value)",
        [project_id, name, now - LATELY, EVENTS_READ, property],
    )
    return Numbers(*rows[0]) if rows else None


def properties(project_id: int, name: str, *, now: datetime) -> list[Property]:
    """Properties that recent events of this name have, the most frequent first."""
    params = [project_id, name, now - LATELY, EVENTS_READ]
    rows = _looked_up(
        f"SELECT key, {TYPE} AS type, count(*), (SELECT count(*) FROM {SOME} s)"
        f" FROM {SOME} e, jsonb_each(e.properties) WHERE {FILLED}"
        " GROUP BY key, type ORDER BY count(*) DESC, key",
        [*params, *params],
    )
    kinds_by_key: dict[str, list[tuple[str, int]]] = {}
    for key, kind, count, _ in rows:
        kinds_by_key.setdefault(key, []).append((kind, count))
    return [
        Property(key, _percent(sum(n for _, n in kinds), rows[0][3]), [kind for kind, _ in kinds])
        for key, kinds in list(kinds_by_key.items())[:MOST_PROPERTIES]
    ]


def values(
    project_id: int, name: str, property: str, typed: str = "", *, now: datetime
) -> list[Value]:
    """The most frequent values of a property that contain the typed text."""
    params = [project_id, name, now - LATELY, EVENTS_READ]
    rows = _looked_up(
        f"SELECT value::text, count(*), (SELECT count(*) FROM {SOME} s)"
        f" FROM {SOME} e, LATERAL (SELECT e.properties -> %s) held(value)"
        f" WHERE {FILLED} AND jsonb_typeof(value) IN ('string', 'number', 'boolean')"
        " AND length(value #>> '{}') <= %s AND strpos(lower(value #>> '{}'), lower(%s)) > 0"
        " GROUP BY value ORDER BY count(*) DESC, value LIMIT %s",
        [*params, *params, property, LONGEST_VALUE, typed, SUGGESTED],
    )
    return [Value(json.loads(value), _percent(count, of)) for value, count, of in rows]


def _looked_up(statement: str, params: Any) -> list[Any]:
    """The rows, or none if it takes too long: a value can be typed without suggestions."""
    with (
        suppress(TooSlow),
        statement_timeout(seconds=LOOKING_SECONDS),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, params)
        rows: list[Any] = cursor.fetchall()
        return rows
    return []


def _percent(count: int, of: int) -> int:
    """The rounded percentage: never 0 if some have it, nor 100 if some lack it."""
    return 100 if count >= of else min(99, max(1, round(100 * count / of)))
