"""PostgreSQL's clock: one for all machines, whatever the clock of this one jumps to."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found


def after(moment: datetime) -> datetime:
    """Now, for an end: no earlier than the last row, which may be written since it was asked."""
    return max(moment, now())
