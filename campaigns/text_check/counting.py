"""Counting: PostgreSQL judges a part of the audience in one pass, each device once.

For each device, it finds missing and odd values, whether they would skip it, and how much room the
values take. It also finds whether the person got the same text lately. The result is a few sums for
each language and platform, with the number of one person for each thing found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.resolving.part import answered, names_runs
from campaigns.audiences.selection import compile_tree, is_time, joined
from campaigns.text_check.text_needs import (
    ELSEWHERE,
    MEASURES,
    WIDE,
    Sheets,
    Variable,
)
from notifications.fcm.options import PLATFORMS
from notifications.people.consent import eligibility

# What may be odd about a value, by its letter in a device's `codes`. Only the first that holds
# counts.
ODD = {
    "m": "missing",
    "e": "empty",
    "s": "blank",
    "o": "object",
    "h": "markup",
    "n": "placeholder",
    "l": "long",
    "p": "past",
}
LACKING = "[me]"
LONG = 80  # letters of one value: no name, city or price is that long
NOBODYS = ("null", "none", "undefined", "nan", "n/a", "nil", "(null)", "test", "unknown")
MARKUP = "<[a-z/!][^<>]*>|&(amp|lt|gt|quot|nbsp|#[0-9]{1,6});"
BLANK = "^[[:space:]\u00a0\u200b\u3000]*$"
CLOSE = 4  # times as many person ids as devices still count as close together
PERSON_BITS = 40  # a size and a person's number are packed into one comparable number
MAX_SIZE = 2**22
# Counts of devices by language and platform; a tally adds them up, in this order.
SUMS = (
    "devices",
    "unsubscribed",
    "suppressed",
    "skipped",
    "lacking",
    "title_cut",
    "body_cut",
    "too_large",
    "again",
)


@dataclass(frozen=True)
class Plan:
    """The settings that all parts of a check must share."""

    project_id: int
    rules: dict[str, Any]
    seen_since: datetime | None
    asks: dict[str, Any]
    same: Sequence[tuple[int, str]]  # runs with the same text, and in which language


@dataclass(frozen=True)
class Counted:
    """The result of one part. `sums`: language, platform, SUMS. `longest`: sheet, for each of
    MEASURES the largest size with its person, and the person with the fewest bytes. `odd`:
    variable, letter, language, platform, devices, two people."""

    sums: list[list[Any]]
    longest: list[list[Any]]
    odd: list[list[Any]]


JUDGED = """
WITH judged AS MATERIALIZED (
    SELECT c.id AS person, COALESCE(l.locale, '{elsewhere}') AS locale, d.platform, s.number,
        standing.out, {codes} AS codes, {skipped} AS skipped, {sizes}, {again} AS again,
        s.title_room, s.body_room, s.bytes_room
    FROM {joined} {standing} {same}
    LEFT JOIN unnest(%s::text[], %s::text[], %s::int[]) l(locale, platform, number)
        ON l.locale = c.locale AND l.platform = d.platform
    JOIN (VALUES {sheets}) s({columns})
        ON s.number = COALESCE(l.number, CASE d.platform {main} END)
    CROSS JOIN LATERAL (SELECT {out} AS out OFFSET 0) standing
    CROSS JOIN LATERAL (SELECT {values} OFFSET 0) v
    CROSS JOIN LATERAL (SELECT {lengths} OFFSET 0) w
    WHERE c.project_id = %s AND d.id >= %s AND d.id < %s AND {where}
), read AS (
    SELECT *, out = '' AND NOT skipped AS stays FROM judged
)
SELECT
    (SELECT json_agg(one) FROM (
        SELECT json_build_array(locale, platform, count(*),
            count(*) FILTER (WHERE out = 'unsubscribed'),
            count(*) FILTER (WHERE out = 'suppressed'),
            count(*) FILTER (WHERE out = '' AND skipped),
            count(*) FILTER (WHERE stays AND codes ~ '{lacking}'),
            count(*) FILTER (WHERE stays AND title > title_room),
            count(*) FILTER (WHERE stays AND body > body_room),
            count(*) FILTER (WHERE stays AND bytes > bytes_room),
            count(*) FILTER (WHERE stays AND again)) AS one
        FROM read GROUP BY locale, platform
    ) sums),
    (SELECT json_agg(one) FROM (
        SELECT json_build_array(number, max(title << {bits} | person),
            max(body << {bits} | person), max(bytes << {bits} | person),
            min(bytes << {bits} | person)) AS one
        FROM read WHERE stays GROUP BY number, locale
    ) longest),
    (SELECT json_agg(one) FROM (
        SELECT json_build_array(nth - 1, substr(codes, nth, 1), locale, platform, count(*),
            min(person), max(person)) AS one
        FROM read, generate_series(1, {variables}) nth
        WHERE out = '' AND codes ~ '[a-z]' AND substr(codes, nth, 1) <> '.'
        GROUP BY nth, substr(codes, nth, 1), locale, platform
    ) odd)
"""


# Other processes need the second core. Compiling hundreds of expressions takes longer than running
# them. The judged rows of a part fit into this much memory.
GENTLY = """
SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL work_mem = '48MB'
"""


def count(plan: Plan, sheets: Sheets, ids: range) -> Counted:
    """Count the devices with these ids. Must run in a transaction."""
    statement = _build_statement(plan, sheets, ids)
    with connection.cursor() as cursor:
        cursor.execute(GENTLY)
        cursor.execute(statement.sql, statement.params)
        return Counted(*(_parse_rows(cell) for cell in cursor.fetchone()))


def _parse_rows(value: Any) -> list[list[Any]]:
    rows = json.loads(value) if isinstance(value, str) else value
    return rows or []


def _build_statement(plan: Plan, sheets: Sheets, ids: range) -> Sql:
    variables = sheets.variables
    people = _people_of(plan, ids)
    parts = {
        "codes": _join_sql(
            " || ", [_code_sql(n, variable) for n, variable in enumerate(variables)], "''"
        ),
        "skipped": _join_sql(" OR ", [_is_skipped(n, v) for n, v in enumerate(variables)], "FALSE"),
        "sizes": _sizes_sql(len(variables)),
        "same": _same_text_join(plan, people),
        "locales": _locale_params(sheets),
        "out": Sql("", [plan.asks["marketing"], plan.asks["category"]]),
        "values": _join_sql(
            ", ", [_name_sql(f"v{n}", v.value) for n, v in enumerate(variables)], "1"
        ),
        "lengths": _lengths_sql(len(variables)),
        "ids": Sql("", [plan.project_id, ids.start, ids.stop]),
        "where": compile_tree(_of_part(plan.rules, people, len(ids))),
    }
    sql = JUDGED.format(
        elsewhere=ELSEWHERE,
        joined=joined(plan.seen_since),
        standing=eligibility.JOIN,
        columns=", ".join(_columns(len(variables))),
        sheets=", ".join(_row_sql(sheets, number) for number in range(len(sheets.all))),
        main=" ".join(f"WHEN '{name}' THEN {n}" for n, name in enumerate(PLATFORMS)),
        again="same_text.person IS NOT NULL" if plan.same else "FALSE",
        lacking=LACKING,
        bits=PERSON_BITS,
        variables=len(variables),
        **{name: part.sql for name, part in parts.items() if name not in ("out", "locales", "ids")},
        out=eligibility.skip_reason_sql("%s", "%s"),
    )
    return Sql(sql, [param for part in parts.values() for param in part.params])


# --- Of one variable ------------------------------------------------------------------------------


def _code_sql(number: int, variable: Variable) -> Sql:
    value, void, is_object = f"v.v{number}", variable.is_void, variable.is_object
    words = ", ".join(f"'{word}'" for word in NOBODYS)
    past = f"CASE WHEN {is_time(value)} THEN {value}::timestamptz < statement_timestamp() END"
    sql = f"""CASE WHEN NOT s.uses{number} THEN '.'
        WHEN {value} IS NULL AND {void.sql} THEN 'e' WHEN {value} IS NULL THEN 'm'
        WHEN {value} = '' THEN 'e'
        WHEN {value} ~ '{BLANK}' THEN 's'
        WHEN starts_with({value}, '{{') AND {is_object.sql} THEN 'o'
        WHEN (strpos({value}, '<') > 0 OR strpos({value}, '&') > 0) AND {value} ~* '{MARKUP}'
            THEN 'h'
        WHEN char_length({value}) < 12 AND lower(btrim({value})) IN ({words}) THEN 'n'
        WHEN char_length({value}) > {LONG} THEN 'l'
        WHEN {value} LIKE '____-__-__%%' AND {past} THEN 'p'
        ELSE '.' END"""
    return Sql(sql, [*void.params, *is_object.params])


def _is_skipped(number: int, variable: Variable) -> Sql:
    """Return SQL that skips as rendering does: an empty value counts as missing, except inside
    another value."""
    value, void = f"v.v{number}", variable.is_void
    if len(variable.path) == 1:
        return Sql(f"(s.needed{number} AND COALESCE({value}, '') = '')")
    return Sql(f"(s.needed{number} AND {value} IS NULL AND NOT {void.sql})", void.params)


def _lengths_sql(count: int) -> Sql:
    """Return SQL for the width and the bytes of each value: on iOS as JSON, which escapes."""
    columns = [part for n in range(count) for part in _lengths_of(n)]
    return Sql(", ".join(columns) or "1")


def _lengths_of(number: int) -> Iterator[str]:
    value = f"v.v{number}"
    wide = f"char_length(regexp_replace({value}, '[^{WIDE}]', '', 'g'))"
    plain = f"octet_length({value}) = char_length({value})"
    yield f"char_length({value}) + CASE WHEN {plain} THEN 0 ELSE {wide} END AS wide{number}"
    as_json = f"octet_length(to_json({value})::text) - 2"
    size = f"CASE WHEN d.platform = 'ios' THEN {as_json} ELSE octet_length({value}) END"
    yield f"{size} AS size{number}"


def _sizes_sql(count: int) -> Sql:
    """Return SQL for how much of each measure a device's values take up."""
    unit = {"title": "wide", "body": "wide", "bytes": "size"}
    sums = {
        name: " + ".join(f"s.{name}{n} * COALESCE(w.{unit[name]}{n}, 0)" for n in range(count))
        for name in MEASURES
    }
    columns = [f"LEAST({sums[name] or '0'}, {MAX_SIZE})::bigint AS {name}" for name in MEASURES]
    return Sql(", ".join(columns))


def _name_sql(name: str, value: Sql) -> Sql:
    return Sql(f"{value.sql} AS {name}", value.params)


def _join_sql(between: str, parts: Sequence[Sql], otherwise: str) -> Sql:
    sql = between.join(part.sql for part in parts) or otherwise
    return Sql(f"({sql})" if between in (" || ", " OR ") else sql, [
        param for part in parts for param in part.params
    ])  # fmt: skip


# --- Of the sheets --------------------------------------------------------------------------------


def _columns(count: int) -> Iterator[str]:
    yield "number"
    yield from (f"{name}_room" for name in MEASURES)
    for number in range(count):
        yield from (f"uses{number}", f"needed{number}")
        yield from (f"{name}{number}" for name in MEASURES)


def _row_sql(sheets: Sheets, number: int) -> str:
    """Return a sheet as SQL values: only our own numbers, nothing that a person typed."""
    sheet = sheets.all[number]
    cells = [str(int(number)), *(str(int(sheet.room[name])) for name in MEASURES)]
    for nth in range(len(sheets.variables)):
        cells += ["TRUE" if sheet.uses[nth] else "FALSE"]
        cells += ["TRUE" if sheet.needed[nth] else "FALSE"]
        cells += [str(int(sheet.often[name][nth])) for name in MEASURES]
    return f"({', '.join(cells)})"


def _locale_params(sheets: Sheets) -> Sql:
    pairs = list(sheets.of)
    locales, platforms = [name for name, _ in pairs], [name for _, name in pairs]
    return Sql("", [locales, platforms, list(sheets.of.values())])


# --- Of the part ----------------------------------------------------------------------------------


def _people_of(plan: Plan, ids: range) -> tuple[int, int]:
    """Return the ids of the first and the last person of these devices."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(contact_id), max(contact_id) FROM notifications_device"
            " WHERE project_id = %s AND id >= %s AND id < %s",
            [plan.project_id, ids.start, ids.stop],
        )
        first, last = cursor.fetchone()
    return first or 0, last or 0


def _of_part(rules: dict[str, Any], people: tuple[int, int], devices: int) -> dict[str, Any]:
    """Answer rules on past runs for all people of the part at once, if their ids are close."""
    first, last = people
    if not names_runs(rules) or last - first >= CLOSE * max(devices, 1):
        return rules
    return answered(rules, first, last)


TOLD = """LEFT JOIN (
    SELECT DISTINCT r.contact_id AS person FROM campaigns_recipient r
    JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq
    JOIN unnest(%s::bigint[], %s::text[]) same(run, locale)
        ON same.run = r.run_id AND same.locale = COALESCE(r.locale, '')
    WHERE r.run_id = ANY(%s) AND x.run_id = ANY(%s) AND x.status IN ('accepted', 'unknown')
        AND r.contact_id BETWEEN %s AND %s
) same_text ON same_text.person = c.id"""


def _same_text_join(plan: Plan, people: tuple[int, int]) -> Sql:
    """Return SQL for people who were sent the same text. It is a join: otherwise millions would be
    looked up one by one."""
    if not plan.same:
        return Sql("")
    runs = sorted({run for run, _ in plan.same})
    pairs = [[run for run, _ in plan.same], [locale for _, locale in plan.same]]
    return Sql(TOLD, [*pairs, runs, runs, *people])
