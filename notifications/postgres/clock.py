"""PostgreSQL's clock: one for all machines, whatever the clock of this one jumps to."""

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
    """The same from now on, asked once: counted on by a clock of ours that never jumps."""
    asked, since = now(), time.monotonic()
    return lambda: asked + timedelta(seconds=time.monotonic() - since)


def after(moment: datetime) -> datetime:
    """Now, for an end: no earlier than the last row, which may be written since it was asked."""
    return max(moment, now())
