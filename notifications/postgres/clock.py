"""PostgreSQL's clock: the one clock for all machines, even if this machine's clock jumps."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import connection


def now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


def ticking() -> Callable[[], datetime]:
    """Return a clock that asks PostgreSQL once and then counts on with our monotonic clock."""
    database_time, since = now(), time.monotonic()
    return lambda: database_time + timedelta(seconds=time.monotonic() - since)


def after(moment: datetime) -> datetime:
    """Return now, but no earlier than `moment`: a row may have been written since then."""
    return max(moment, now())
