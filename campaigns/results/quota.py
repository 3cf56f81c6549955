"""How much of each project's FCM quota is in use: requests of the last minute, by the windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from notifications.people.project import Project
from notifications.values.shares import share

MINUTE = timedelta(minutes=1)
PROJECTS_SHOWN = 6


@dataclass(frozen=True)
class Quota:
    """One project's minute."""

    project: Project
    used: int
    share: str


# Only runs that can have sent in the last minute: each is read by its index.
USED = """
SELECT r.project_id, COALESCE(sum(cardinality(w.seqs)), 0)
FROM campaigns_run r JOIN campaigns_window w ON w.run_id = r.id
WHERE (r.finished_at IS NULL OR r.finished_at > %(since)s) AND w.opened_at > %(since)s
GROUP BY r.project_id
"""


def quotas(projects: Iterable[Project], now: datetime) -> list[Quota]:
    with connection.cursor() as cursor:
        cursor.execute(USED, {"since": now - MINUTE})
        used = dict(cursor.fetchall())
    found = [
        Quota(
            project,
            int(used.get(project.pk, 0)),
            share(int(used.get(project.pk, 0)), project.quota_per_minute),
        )
        for project in projects
    ]
    return sorted(found, key=lambda quota: -quota.used)[:PROJECTS_SHOWN]
