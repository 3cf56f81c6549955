"""Redis forgets, as after a restart that kept nothing; PostgreSQL, as after a test."""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg import sql

# Twice before each test: a connection made anew would take longer than what is asked over it.
_client = cache(redis.Redis.from_url)
# What the migrations say there is of them; nobody adds to these.
ALWAYS_THERE = {"django_content_type", "auth_permission", "django_migrations"}
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
    """Of what a test has committed. Django would empty the empty ones too, and then write anew what
    permissions there are: half a second on a busy machine.
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
        # A page that was closed may still be counting. What stays would fail all tests to come.
        cursor.execute("SET LOCAL lock_timeout = 0")
        _drop_partitions(cursor)
        names = set(connection.introspection.django_table_names(only_existing=True)) - ALWAYS_THERE
        tables = [sql.Identifier(name) for name in sorted(names)]
        each = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
        cursor.execute(
            sql.SQL(" UNION ALL ").join(
                each.format(sql.Literal(table.as_string()), table) for table in tables
            )
        )
        if filled := [name for (name,) in cursor.fetchall()]:
            cursor.execute(f"TRUNCATE {', '.join(filled)} CASCADE")


def _drop_partitions(cursor: CursorWrapper) -> None:
    """Those that each run has of the ledger's tables; else there would be ever more to empty."""
    cursor.execute(PARTITIONS)
    if names := cursor.fetchone()[0]:
        cursor.execute(f"DROP TABLE {names}")
