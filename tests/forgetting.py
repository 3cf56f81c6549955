"""Redis forgets, as after a restart that kept nothing."""

from __future__ import annotations

import redis
from django.conf import settings


def flush(url: str) -> None:
    """FLUSHDB: the queues, or the gate, or the cache, as the address says."""
    redis.Redis.from_url(url).flushdb()


def flush_gate() -> None:
    flush(settings.GATE_URL)


def flush_all() -> None:
    """FLUSHALL: queues, results, gate and cache, as if Redis had never been told anything."""
    redis.Redis.from_url(settings.BROKER_URL).flushall()
