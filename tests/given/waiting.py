"""Waiting for what other processes do, with an end: a test may fail, never hang."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import connection


def eventually(what: str, condition: Callable[[], object], *, seconds: float = 90) -> float:
    """Wait for it; how long that took. Raises AssertionError that names what did not happen."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - began


def somebody_waits() -> bool:
    """For a row that another transaction holds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE NOT granted")
        return bool(cursor.rowcount)
