"""What a project's people are really like: their attributes, of which type, with which values.

Read from the newest people only: enough to show what the app sends today, and one page of
milliseconds however many people there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import connection

from campaigns.audiences.rules import FIELDS
from campaigns.audiences.selection import folded, is_time
from notifications.postgres.budget import TooSlow, within

PEOPLE_READ = 10_000
LOOKING_SECONDS = 2.0
SUGGESTED = 20
MOST_ATTRIBUTES = 300
LONGEST_VALUE = 100  # longer texts are stories, not values one chooses from


@dataclass(frozen=True)
class Attribute:
    """One attribute, how many per cent of the people have it, and what their values are."""

    name: str
    percent: int
    types: list[str]  # the most frequent first: text, time, number, boolean, list, object


@dataclass(frozen=True)
class Value:
    """A value somebody really has. `exact` keeps its type: 5 is not “5”."""

    exact: str | float | bool
    percent: int


NEWEST = """
(SELECT * FROM notifications_contact WHERE project_id = %s ORDER BY id DESC LIMIT %s) c
"""
AS_TEXT = "(value #>> '{}')"
TYPE = f"""
CASE jsonb_typeof(value)
    WHEN 'number' THEN 'number' WHEN 'boolean' THEN 'boolean'
    WHEN 'array' THEN 'list' WHEN 'object' THEN 'object'
    ELSE CASE WHEN {is_time(AS_TEXT)} THEN 'time' ELSE 'text' END
END
"""
# An empty text reads as missing in a template and in a rule, so it does here.
FILLED = "jsonb_typeof(value) <> 'null' AND value <> '\"\"'"


def attributes(project_id: int) -> list[Attribute]:
    rows = _looked_up(
        f"SELECT key, type, count(*), (SELECT count(*) FROM {NEWEST})"
        f" FROM (SELECT key, {TYPE} AS type FROM {NEWEST}, jsonb_each(c.attributes)"
        f" WHERE {FILLED}) known GROUP BY key, type ORDER BY count(*) DESC, key",
        [project_id, PEOPLE_READ, project_id, PEOPLE_READ],
    )
    found: dict[str, list[tuple[str, int]]] = {}
    for name, kind, count, _ in rows:
        found.setdefault(name, []).append((kind, count))
    of = rows[0][3] if rows else 0
    known = [
        Attribute(name, _percent(sum(count for _, count in kinds), of), [kind for kind, _ in kinds])
        for name, kinds in found.items()
    ]
    return known[:MOST_ATTRIBUTES]


def nowhere(project_id: int, names: Iterable[str]) -> list[str]:
    """Those of the attributes that no person has; none of them when looking takes too long.

    Asks everybody, so ask about names that are not among `attributes` only.
    """
    asked = sorted(set(names))
    if not asked:
        return []
    try:
        with within(seconds=1), connection.cursor() as cursor:
            cursor.execute(
                "SELECT name FROM unnest(%s::text[]) name WHERE NOT EXISTS ("
                " SELECT 1 FROM notifications_contact"
                " WHERE project_id = %s AND COALESCE(attributes ->> name, '') <> '')",
                [asked, project_id],
            )
            return [row[0] for row in cursor.fetchall()]
    except TooSlow:
        return []


def values(project_id: int, field: str, typed: str = "") -> list[Value]:
    """The most frequent values of a field that hold what was typed so far."""
    if field == "external_id":
        return _external_ids(project_id, typed)
    if field in FIELDS and FIELDS[field].kind not in ("text", "version"):
        return []
    source, held, params = _held(field)
    rows = _looked_up(
        f"WITH newest AS (SELECT * FROM {source} WHERE project_id = %s"
        " ORDER BY id DESC LIMIT %s)"
        f" SELECT value, count(*), (SELECT count(*) FROM newest) FROM newest, {held}"
        f" WHERE {FILLED} AND jsonb_typeof(value) <> 'object'"
        " AND length(value #>> '{}') <= %s"
        f" AND strpos({folded(AS_TEXT)}, {folded('%s')}) > 0"
        " GROUP BY value ORDER BY count(*) DESC, value LIMIT %s",
        [project_id, PEOPLE_READ, *params, LONGEST_VALUE, typed, SUGGESTED],
    )
    return [Value(json.loads(value), _percent(count, of)) for value, count, of in rows]


def _looked_up(statement: str, params: list[Any]) -> list[Any]:
    """Nothing when it takes too long: what is suggested can be typed as well."""
    with suppress(TooSlow), within(seconds=LOOKING_SECONDS), connection.cursor() as cursor:
        cursor.execute(statement, params)
        rows: list[Any] = cursor.fetchall()
        return rows
    return []


def _held(field: str) -> tuple[str, str, list[Any]]:
    """The table, and a FROM item whose `value` is each value a row of it holds, as JSON."""
    if field in FIELDS:
        alias, _, column = FIELDS[field].column.partition(".")
        table = {"c": "notifications_contact", "d": "notifications_device"}[alias]
        return table, f"LATERAL (SELECT to_jsonb({column}) AS value) held", []
    # Of a list, each entry is a value one may ask for.
    held = (
        "LATERAL jsonb_array_elements(CASE jsonb_typeof(attributes -> %s) WHEN 'array'"
        " THEN attributes -> %s ELSE jsonb_build_array(attributes -> %s) END) held(value)"
    )
    return "notifications_contact", held, [field.partition(".")[2]] * 3


def _external_ids(project_id: int, typed: str) -> list[Value]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT external_id FROM notifications_contact"
            " WHERE project_id = %s AND upper(external_id) LIKE %s ORDER BY upper(external_id)"
            " LIMIT %s",
            [project_id, f"{_like(typed.upper())}%", SUGGESTED],
        )
        return [Value(row[0], 0) for row in cursor.fetchall()]


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _percent(count: int, of: int) -> int:
    """Never 0 for somebody, nor 100 when somebody is missing."""
    if count >= of:
        return 100
    return min(99, max(1, round(100 * count / of)))
