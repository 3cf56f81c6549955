"""Devices unseen for too long are left out: a project says for how many days, or never.

Told here once, for all that select: whoever counts, shows, explains or freezes joins devices by it.
A run keeps the moment that held when its freezing began: its parts must agree on it.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def seen_since(project_id: int) -> datetime | None:
    """Since when a device must have been seen at this moment; None: it need not have been.

    By PostgreSQL's clock, as all times in rules are.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement_timestamp() - make_interval(days => leave_out_unseen_days)"
            " FROM notifications_project WHERE id = %s",
            [project_id],
        )
        found = cursor.fetchone()
    return found[0] if found else None


def fresh(since: datetime | None) -> str:
    """In SQL, of the device `d`."""
    return f"d.last_seen_at >= '{since.isoformat()}'::timestamptz" if since else "TRUE"
