"""A project's limit for unseen devices: after this many days without being seen, they are left out.

A project may also have no limit. All code that counts, shows, explains or freezes people joins
devices with this condition. A run stores the moment that was the limit when its freezing began,
because its parts must agree on it.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def seen_since(project_id: int) -> datetime | None:
    """The time since which a device must have been seen, as of now; None: there is no limit.

    It uses PostgreSQL's clock, as all times in rules do.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement_timestamp() - make_interval(days => leave_out_unseen_days)"
            " FROM notifications_project WHERE id = %s",
            [project_id],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def fresh(since: datetime | None) -> str:
    """SQL that tells whether the device `d` was seen since then."""
    return f"d.last_seen_at >= '{since.isoformat()}'::timestamptz" if since else "TRUE"
