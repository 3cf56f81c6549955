"""The attributes that a project's people really have, with their types and values.

They are read from two samples: the newest people, who show what the app sends today, and people
spread over all, who show what the others have. These are some thousands, however many people there
are. Percentages are estimated from the people spread over all.
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
from notifications.postgres.budget import TooSlow, statement_timeout

PEOPLE_READ = 10_000  # in each sample: the newest, and those spread over all
STRETCHES = 200  # ranges of ids; the same number of people is read from each
LOOKING_SECONDS = 2.0
SUGGESTED = 20
MOST_ATTRIBUTES = 300
LONGEST_VALUE = 100  # longer texts are not values to choose from


@dataclass(frozen=True)
class Attribute:
    """One attribute, how many per cent of the people have it, and the types of its values."""

    name: str
    percent: int
    types: list[str]  # the most frequent first: text, time, number, boolean, list, object


@dataclass(frozen=True)
class Value:
    """A value that people really have. `exact` keeps its type: 5 is not “5”."""

    exact: str | float | bool
    percent: int


# If a project has fewer people than PEOPLE_READ, all are read. Each range is one look-up in the
# index of the project's ids; TABLESAMPLE would read the other projects' rows too.
SAMPLE = """
(WITH newest AS MATERIALIZED (
    SELECT * FROM {table} WHERE project_id = {project} ORDER BY id DESC LIMIT {most}
), known AS (SELECT count(*) < {most} AS whole FROM newest),
edges AS (
    SELECT low, (high - low) / {stretches} + 1 AS width FROM
    (SELECT id AS low FROM {table} WHERE project_id = {project} ORDER BY id LIMIT 1) first,
    (SELECT id AS high FROM {table} WHERE project_id = {project} ORDER BY id DESC LIMIT 1) last
)
SELECT newest.*, whole AS spread FROM newest, known
UNION ALL
SELECT one.*, TRUE FROM known, edges, generate_series(0, {stretches} - 1) part, LATERAL (
    SELECT * FROM {table} WHERE project_id = {project}
    AND id >= low + width * part AND id < low + width * (part + 1) ORDER BY id LIMIT {each}
) one WHERE NOT whole)
"""
AS_TEXT = "(value #>> '{}')"
TYPE = f"""
CASE jsonb_typeof(value)
    WHEN 'number' THEN 'number' WHEN 'boolean' THEN 'boolean'
    WHEN 'array' THEN 'list' WHEN 'object' THEN 'object'
    ELSE CASE WHEN {is_time(AS_TEXT)} THEN 'time' ELSE 'text' END
END
"""
# An empty text counts as missing, as in a template and in a rule.
FILLED = "jsonb_typeof(value) <> 'null' AND value <> '\"\"'"


def attributes(project_id: int) -> list[Attribute]:
    rows = _fetch_rows(
        f"WITH sample AS MATERIALIZED {_sample(project_id)}"
        " SELECT key, type, count(*) FILTER (WHERE spread),"
        " (SELECT count(*) FROM sample WHERE spread)"
        f" FROM (SELECT key, {TYPE} AS type, spread FROM sample, jsonb_each(attributes)"
        f" WHERE {FILLED}) known GROUP BY key, type ORDER BY 3 DESC, count(*) DESC, key",
        [],
    )
    counts: dict[str, list[tuple[str, int]]] = {}
    for name, kind, count, _ in rows:
        counts.setdefault(name, []).append((kind, count))
    total = rows[0][3] if rows else 0
    known = [
        Attribute(
            name, _percent(sum(count for _, count in kinds), total), [kind for kind, _ in kinds]
        )
        for name, kinds in counts.items()
    ]
    return known[:MOST_ATTRIBUTES]


@dataclass(frozen=True)
class Described:
    """One attribute with its types and examples of its values."""

    name: str
    percent: int
    types: list[str]  # the most frequent first
    values: int  # how many different values
    examples: list[Any]  # the most frequent values


DESCRIBED = f"""
held AS (
    SELECT key, {TYPE} AS type, count(*) AS times, count(*) FILTER (WHERE spread) AS among,
        CASE WHEN length(value::text) <= %s THEN value
            ELSE to_jsonb(left(value #>> '{{}}', %s) || '…') END AS shown
    FROM sample, jsonb_each(attributes) WHERE {FILLED} GROUP BY key, type, shown
),
ranked AS (SELECT *, row_number() OVER (PARTITION BY key ORDER BY times DESC, shown) FROM held)
SELECT key, sum(among)::int, (SELECT count(*) FROM sample WHERE spread), count(*),
    array_agg(DISTINCT type), jsonb_agg(shown ORDER BY times DESC) FILTER (WHERE row_number <= %s)
FROM ranked GROUP BY key ORDER BY 2 DESC, key LIMIT %s
"""
EXAMPLES = 3


def described(project_id: int) -> list[Described] | None:
    """All attributes of the people, with examples; None if reading them takes too long."""
    cut = [LONGEST_VALUE, LONGEST_VALUE, EXAMPLES, MOST_ATTRIBUTES]
    sample = f"WITH sample AS MATERIALIZED {_sample(project_id)},"
    rows = _fetch_in_time(sample + DESCRIBED, cut)
    if rows is None:
        return None
    return [
        Described(name, _percent(times, total), types, values, json.loads(examples))
        for name, times, total, values, types, examples in rows
    ]


@dataclass(frozen=True)
class Types:
    """How many people were checked, and how many of them have values of each type."""

    people: int
    counts: dict[str, int]  # the most frequent first


def types_of(project_id: int, name: str) -> Types | None:
    """The types of one attribute's values; None if reading them takes too long."""
    rows = _fetch_in_time(
        f"WITH sample AS MATERIALIZED {_sample(project_id)},"
        f" held AS (SELECT attributes -> %s AS value FROM sample)"
        f" SELECT {TYPE}, count(*), (SELECT count(*) FROM sample)"
        f" FROM held WHERE {FILLED} GROUP BY 1 ORDER BY 2 DESC, 1",
        [name],
    )
    if rows is None:
        return None
    return Types(rows[0][2] if rows else 0, {kind: count for kind, count, _of in rows})


def nowhere(project_id: int, names: Iterable[str]) -> list[str]:
    """Which of these attributes no person has; empty if the search takes too long.

    It searches all people, so pass only names that `attributes` did not return.
    """
    unique_names = sorted(set(names))
    if not unique_names:
        return []
    try:
        with statement_timeout(seconds=1), connection.cursor() as cursor:
            cursor.execute(
                "SELECT name FROM unnest(%s::text[]) name WHERE NOT EXISTS ("
                " SELECT 1 FROM notifications_contact"
                " WHERE project_id = %s AND COALESCE(attributes ->> name, '') <> '')",
                [unique_names, project_id],
            )
            return [row[0] for row in cursor.fetchall()]
    except TooSlow:
        return []


def values(project_id: int, field: str, typed: str = "") -> list[Value]:
    """The most frequent values of a field that contain the typed text."""
    if field == "external_id":
        return _external_ids(project_id, typed)
    if field in FIELDS and FIELDS[field].kind not in ("text", "version"):
        return []
    source, value_source, params = _value_source(field)
    rows = _fetch_rows(
        f"WITH sample AS MATERIALIZED {_sample(project_id, source)}"
        " SELECT value, count(*) FILTER (WHERE spread),"
        f" (SELECT count(*) FROM sample WHERE spread) FROM sample, {value_source}"
        f" WHERE {FILLED} AND jsonb_typeof(value) <> 'object'"
        " AND length(value #>> '{}') <= %s"
        f" AND strpos({folded(AS_TEXT)}, {folded('%s')}) > 0"
        " GROUP BY value ORDER BY 2 DESC, count(*) DESC, value LIMIT %s",
        [*params, LONGEST_VALUE, typed, SUGGESTED],
    )
    return [Value(json.loads(value), _percent(count, total)) for value, count, total in rows]


@dataclass(frozen=True)
class Language:
    """A language tag, and how many people have it; an estimate if there are very many people."""

    tag: str
    people: int


MOST_LANGUAGES = 100


def languages(project_id: int) -> tuple[list[Language], bool]:
    """The languages of people, the most frequent first, and whether the counts are exact.

    The list is empty if reading them takes too long.
    """
    rows = _fetch_rows(
        f"WITH sample AS MATERIALIZED {_sample(project_id)}"
        " SELECT locale, count(*) FILTER (WHERE spread),"
        " (SELECT count(*) FROM sample WHERE spread), (SELECT bool_and(spread) FROM sample)"
        " FROM sample GROUP BY locale ORDER BY 2 DESC, locale LIMIT %s",
        [MOST_LANGUAGES],
    )
    whole = bool(rows) and bool(rows[0][3])
    everybody = rows[0][2] if whole else _people(project_id) if rows else 0
    if not everybody:
        return [], False
    times = everybody / rows[0][2]
    return [Language(tag, round(count * times)) for tag, count, *_ in rows], whole


def _people(project_id: int) -> int:
    rows = _fetch_rows(
        "SELECT count(*) FROM notifications_contact WHERE project_id = %s", [project_id]
    )
    return rows[0][0] if rows else 0


def _sample(project_id: int, table: str = "notifications_contact") -> str:
    """A FROM item: sampled rows; `spread` is true for rows spread over the whole project."""
    per_stretch = max(1, PEOPLE_READ // STRETCHES)
    return SAMPLE.format(
        table=table,
        project=int(project_id),
        most=PEOPLE_READ,
        stretches=STRETCHES,
        each=per_stretch,
    )


def _fetch_rows(statement: str, params: list[Any]) -> list[Any]:
    """The rows of a statement; empty if it takes too long: users can type without suggestions."""
    return _fetch_in_time(statement, params) or []


def _fetch_in_time(statement: str, params: list[Any]) -> list[Any] | None:
    with (
        suppress(TooSlow),
        statement_timeout(seconds=LOOKING_SECONDS),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, params)
        rows: list[Any] = cursor.fetchall()
        return rows
    return None


def _value_source(field: str) -> tuple[str, str, list[Any]]:
    """The table of a field, a FROM item that gives each `value` of a row as JSON, its params."""
    if field in FIELDS:
        alias, _, column = FIELDS[field].column.partition(".")
        table = {"c": "notifications_contact", "d": "notifications_device"}[alias]
        return table, f"LATERAL (SELECT to_jsonb({column}) AS value) held", []
    # Each entry of a list is a value, because a rule can ask for it.
    lateral = (
        "LATERAL jsonb_array_elements(CASE jsonb_typeof(attributes -> %s) WHEN 'array'"
        " THEN attributes -> %s ELSE jsonb_build_array(attributes -> %s) END) held(value)"
    )
    return "notifications_contact", lateral, [field.partition(".")[2]] * 3


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


def _percent(count: int, total: int) -> int:
    """The percentage; never 0 if a person has it, and never 100 if a person lacks it."""
    if count >= total:
        return 100
    return min(99, max(1, round(100 * count / total)))
