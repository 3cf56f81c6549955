"""Clearing: removes old events, whole months if every project allows it, else page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction

from notifications.people.events import event_ids, partitions
from notifications.people.events.months import Month, through, wholly_before
from notifications.people.events.partitions import TABLE, name_of
from notifications.people.retention import Kept, Kind, ends_of_life
from notifications.postgres import clock
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values.registry import Registry

PAGES = 2_000  # pages of a table in one transaction: 16 MB, some 140,000 events, 0.1 to 0.5 s
LOCK_MILLISECONDS = 500  # a longer reader is not disturbed: the next tick tries again
COUNTING_SECONDS = 1.0
SAMPLE_PERCENT = 1
AHEAD = timedelta(days=35)  # so the next month's partition exists before it is needed

ANALYZED_LATELY = """
SELECT FROM pg_stat_user_tables
WHERE relid = %s::regclass AND last_analyze > statement_timestamp() - interval '1 day'
"""

Ends = dict[int, datetime | None]
# Each listener removes its own data about events that are too old.
on_events_removed = Registry[Callable[[Ends], Iterator[int]]]()


def make_ahead(*, now: datetime) -> None:
    """Create this month's and the next month's partition.

    If the process dies here: the next tick creates them, or the first event that needs one.
    """
    with transaction.atomic():
        partitions.make(through(Month.of_moment(now), Month.of_moment(now + AHEAD)))


# --- What exists --------------------------------------------------------------------------------

COUNT = """
SELECT count(*), count(*) FILTER (WHERE at < %s), min(at) FILTER (WHERE at >= %s) FROM {source}
WHERE project_id = %s
"""


def look(project_id: int, before: datetime | None) -> Kept:
    """How many events there are, and how many are old.

    They are counted within a second, or estimated within another. Raises TooSlow.
    """
    try:
        return _count(TABLE, project_id, before)
    except TooSlow:
        part = f"{TABLE} TABLESAMPLE SYSTEM ({SAMPLE_PERCENT}) REPEATABLE (1)"
        return _count(part, project_id, before, times=100 // SAMPLE_PERCENT)


def _count(source: str, project_id: int, before: datetime | None, *, times: int = 1) -> Kept:
    moment = before or "-infinity"
    with statement_timeout(seconds=COUNTING_SECONDS), connection.cursor() as cursor:
        cursor.execute(COUNT.format(source=source), [moment, moment, project_id])
        count, older, next_at = cursor.fetchone()
    return Kept(count * times, older * times, next_at, exact=times == 1)


# --- What is removed ------------------------------------------------------------------------------


def remove(ends: Ends) -> Iterator[int]:
    """Remove old events step by step; yields how many each step removed.

    If the process dies here: what was removed is gone, and the next tick removes the rest.
    """
    last = max((end for end in ends.values() if end), default=None)
    for month in partitions.there() if last else ():
        if last and month.begins < last:
            with suppress(OperationalError):  # a reader holds it for longer than we wait
                yield from _remove_month(month, ends)
    for remove_theirs in (event_ids.remove_old, *on_events_removed):
        yield from remove_theirs(ends)


def _remove_month(month: Month, ends: Ends) -> Iterator[int]:
    dropped = _drop_if_all_may(month, ends)
    if dropped is not None:
        yield dropped
    elif _holds_old(month, ends):
        yield from _delete(month, ends)


def _drop_if_all_may(month: Month, ends: Ends) -> int | None:
    """Drop a month if all projects allow it.

    Returns how many events it had, by PostgreSQL's last count; None: kept. The month is locked, so
    nobody writes into it between the check and the drop.
    """
    keepers = _keepers(month, ends)
    with transaction.atomic(), connection.cursor() as cursor:
        if _any_of(keepers, month):
            return None
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_MILLISECONDS}ms'")
        # Lock the table first, in the same order as writers: the partition is detached from it.
        cursor.execute(f"LOCK TABLE ONLY {TABLE}, {name_of(month)} IN ACCESS EXCLUSIVE MODE")
        # Meanwhile a project may have been added, or may have begun to keep its events longer.
        if _any_of(_keepers(month, _current_ends(ends)), month):
            return None
        cursor.execute(
            "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = %s::regclass",
            [name_of(month)],
        )
        count: int = cursor.fetchone()[0]
        partitions.drop(month)
    return count


def _keepers(month: Month, ends: Ends) -> list[int]:
    return [pk for pk, end in ends.items() if not (end and wholly_before([month], end))]


def _current_ends(ends: Ends) -> Ends:
    """The ends as they are now, but never later than at the beginning of the pass."""
    now = ends_of_life("events", now=clock.now())
    return {pk: _earlier_of(ends.get(pk), end) for pk, end in now.items()}


def _earlier_of(one: datetime | None, other: datetime | None) -> datetime | None:
    return min(one, other) if one and other else None


def _any_of(projects: list[int], month: Month) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM unnest(%s::bigint[]) AS pk, LATERAL"
            f" (SELECT FROM {name_of(month)} WHERE project_id = pk LIMIT 1) one)",
            [projects],
        )
        found: bool = cursor.fetchone()[0]
    return found


OLD = "unnest(%s::bigint[], %s::timestamptz[]) AS old (project_id, before)"
IS_OLD = "e.project_id = old.project_id AND e.at < old.before"


def _finite_ends(ends: Ends) -> list[list[object]]:
    finite = [(pk, end) for pk, end in ends.items() if end]
    return [[pk for pk, _ in finite], [end for _, end in finite]]


def _holds_old(month: Month, ends: Ends) -> bool:
    """Whether the month has old events. The index by time needs no rows of later days for this."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT FROM {name_of(month)} e, {OLD} WHERE {IS_OLD} AND e.at < %s)",
            [*_finite_ends(ends), max(end for end in ends.values() if end)],
        )
        found: bool = cursor.fetchone()[0]
    return found


def _delete(month: Month, ends: Ends) -> Iterator[int]:
    """Delete old events of a month, page by page.

    An index would return the rows that the step before deleted again and again.
    """
    name = name_of(month)
    for first in range(0, _pages(name), PAGES):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_MILLISECONDS}ms'")
            cursor.execute(
                f"DELETE FROM {name} e USING {OLD} WHERE {IS_OLD}"
                f" AND e.ctid >= '({first},0)'::tid AND e.ctid < '({first + PAGES},0)'::tid",
                _finite_ends(_current_ends(ends)),
            )
            removed = cursor.rowcount
        yield removed


def _pages(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size(%s::regclass) / current_setting('block_size')::int", [name]
        )
        pages: int = cursor.fetchone()[0]
    return pages


def analyze() -> None:
    """Analyse the whole table once a day: PostgreSQL does it for each partition only.

    Without that, its plans assume that all events belong to the same few people, and collect
    instead of looking up.
    """
    with connection.cursor() as cursor:
        cursor.execute(ANALYZED_LATELY, [TABLE])
        if not cursor.fetchone():
            cursor.execute(f"ANALYZE {TABLE}")


KIND = Kind("events", look, remove)
