"""Partitions of the events table, one a month.

A partition is created in advance, or when an event of another month arrives. It is created by
itself and then attached. Attaching does not block readers or writers of the other partitions,
while CREATE … PARTITION OF would wait for all readers.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection

from notifications.people.events.months import Month, from_text

TABLE = "notifications_event"
THERE = f"""
SELECT substring(inhrelid::regclass::text from '{TABLE}_([0-9]{{4}}_[0-9]{{2}})')
FROM pg_inherits WHERE inhparent = '{TABLE}'::regclass
"""
# Rows are only added: PostgreSQL would vacuum a partition again when a fifth of it is new, and
# until then each new row is looked up twice, in the index and in the table.
OFTEN = "autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05"


def name_of(month: Month) -> str:
    return f"{TABLE}_{month}"


def there() -> list[Month]:
    with connection.cursor() as cursor:
        cursor.execute(THERE)
        return sorted(from_text(row[0]) for row in cursor.fetchall())


def hold() -> None:
    """Keep all partitions until the transaction ends: removing one needs a lock on the table."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE ONLY {TABLE} IN ROW EXCLUSIVE MODE")


def make(months: Iterable[Month]) -> list[Month]:
    """Create the missing partitions, inside a transaction. Returns what it created.

    If two processes need the same month, one creates it, and the other waits for the commit and
    then uses it. If the process dies here: neither the partition nor the rows it was for exist, and
    the next process creates it.
    """
    needed = set(months)
    if not needed.difference(there()):
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"parts of {TABLE}"]
        )
    missing = sorted(needed.difference(there()))
    for month in missing:
        _make(month)
    return missing


def _make(month: Month) -> None:
    name = name_of(month)
    begins, ends = month.begins.isoformat(), month.ends.isoformat()
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING ALL) WITH ({OFTEN})")
        cursor.execute(
            f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM (%s) TO (%s)",
            [begins, ends],
        )


def drop(month: Month) -> None:
    """Remove all events of a month at once, however many."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name_of(month)}")
