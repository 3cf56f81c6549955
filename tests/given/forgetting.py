"""Redis forgets, as after a restart that kept nothing; PostgreSQL, as after a test."""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper

# Twice before each test: a connection made anew would take longer than what is asked over it.
_client = cache(redis.Redis.from_url)
# What the migrations say there is of them; nobody adds to these.
ALWAYS_THERE = {"django_content_type", "auth_permission", "django_migrations"}
APPEND_ONLY = {"notifications_auditentry"}
# A table that holds a row, also one that is not committed yet, or held one since it was truncated.
WITH_PAGES = """
SELECT relname FROM pg_class
WHERE relname = ANY(%s) AND relkind = 'r' AND pg_relation_size(oid) > 0 ORDER BY relname
"""
# TRUNCATE takes half a second, since nearly all tables refer to each other. DELETE looks for what
# refers to each row, so it is quicker only for a few.
MANY_ROWS = "EXISTS (SELECT FROM {} OFFSET 500)"
PARTITIONS = """
SELECT string_agg(inhrelid::regclass::text, ', ') FROM pg_inherits
JOIN pg_class parent ON parent.oid = inhparent AND parent.relkind = 'p'
"""


def flush(url: str) -> None:
    """FLUSHDB: the queues, or the gate, or the cache, as the address says."""
    _client(url).flushdb()


def flush_gate() -> None:
    flush(settings.GATE_URL)


def flush_ours() -> None:
    """Queues, results, gate and cache, as if Redis had never been told anything. Other lanes of the
    tests have theirs in the same server, and keep them."""
    for url in settings.REDIS_DATABASES.values():
        flush(url)


def flush_all() -> None:
    """FLUSHALL, for whoever has a server of its own."""
    redis.Redis.from_url(settings.BROKER_URL).flushall()


def empty_tables(*_: object) -> None:
    """Of what a test has committed. Django would TRUNCATE, and then write anew what permissions
    there are: half a second each.
    """
    for last in (False, False, True):
        try:
            _empty_tables()
            break
        except OperationalError:  # a deadlock with a request that nobody waits for any more
            if last:
                raise


def _empty_tables() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # A page that was closed may still be counting, a worker still writing. What stays would
        # fail all tests to come.
        cursor.execute("SET LOCAL lock_timeout = 0")
        _drop_partitions(cursor)
        tables = set(connection.introspection.django_table_names(only_existing=True))
        cursor.execute(f"LOCK TABLE {', '.join(sorted(tables - ALWAYS_THERE))}")
        cursor.execute(WITH_PAGES, [list(tables - ALWAYS_THERE)])
        used = [name for (name,) in cursor.fetchall()]
        if not used:
            return
        cursor.execute("SELECT " + ", ".join(MANY_ROWS.format(name) for name in used))
        if any(cursor.fetchone()):
            cursor.execute(f"TRUNCATE {', '.join(used)} CASCADE")
            return
        for name in used:
            cursor.execute(f"{'TRUNCATE' if name in APPEND_ONLY else 'DELETE FROM'} {name}")


def _drop_partitions(cursor: CursorWrapper) -> None:
    """Those that each run has of the ledger's tables; else there would be ever more to empty."""
    cursor.execute(PARTITIONS)
    if names := cursor.fetchone()[0]:
        cursor.execute(f"DROP TABLE {names}")
