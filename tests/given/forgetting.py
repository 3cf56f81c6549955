"""Redis forgets, as after a restart that kept nothing; PostgreSQL, as after a test."""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings
from django.db import connection

# Twice before each test: a connection made anew would take longer than what is asked over it.
_client = cache(redis.Redis.from_url)
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


def drop_partitions(**_: object) -> None:
    """The parts that each run has of the ledger's tables, when the runs are gone."""
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS)
        if names := cursor.fetchone()[0]:
            cursor.execute(f"DROP TABLE {names}")
