"""Quota: how much of a project's FCM quota is used now, and in the busiest minute of a day.

Requests are counted by windows, which are committed before their requests leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from notifications.people.figures import Figure, keep, since
from notifications.people.project import Project
from notifications.values.shares import share

MINUTE = timedelta(minutes=1)
PROJECTS_SHOWN = 6
BUSIEST = "busiest_minute"
LOOKED_BACK = timedelta(minutes=30)  # three ticks: one may come late
# Windows read per minute, the newest first: three times the largest quota, in windows of one
# message. With this limit, a table of a year's windows costs no more than a table of these.
MAX_A_MINUTE = 20_000


@dataclass(frozen=True)
class Quota:
    """The quota that one project used in one minute."""

    project: Project
    used: int
    share: str
    at: datetime | None = None  # when it began; None: now


REQUESTS = """
SELECT run.project_id, {minute}, sum(cardinality(w.seqs))
FROM (
    SELECT run_id, opened_at, seqs FROM campaigns_window ORDER BY id DESC LIMIT %(most)s
) w JOIN campaigns_run run ON run.id = w.run_id
WHERE w.opened_at > %(since)s AND w.opened_at <= %(until)s GROUP BY 1, 2
"""


def quotas(projects: Iterable[Project], now: datetime) -> list[Quota]:
    """What each project used of its quota in the last minute, the busiest first."""
    counts = used(now)
    rows = [_quota(project, counts.get(project.pk, 0)) for project in projects]
    return sorted(rows, key=lambda quota: -quota.used)[:PROJECTS_SHOWN]


def used(now: datetime) -> dict[int, int]:
    """The number of requests in the last minute, by project."""
    return {project: count for project, _, count in _load_requests("NULL", now, MINUTE)}


def busiest(project: Project, midnight: datetime) -> Quota | None:
    """The busiest minute since midnight, up to the last tick; None: none is known."""
    minutes = since(project.pk, BUSIEST, midnight)
    busiest_minute: Figure | None = max(minutes, key=lambda minute: minute.count, default=None)
    return _quota(project, busiest_minute.count, busiest_minute.at) if busiest_minute else None


def keep_busiest(now: datetime) -> None:
    """Store each project's busiest minute of the last LOOKED_BACK."""
    minutes: dict[int, dict[datetime, int]] = defaultdict(dict)
    for project, minute, count in _load_requests(
        "date_trunc('minute', opened_at)", now, LOOKED_BACK
    ):
        minutes[project][minute] = count
    for project, counts in minutes.items():
        busiest_at = max(counts, key=lambda minute: counts[minute])
        keep(project, BUSIEST, {busiest_at: counts[busiest_at]}, now)


def _load_requests(minute: str, now: datetime, span: timedelta) -> list[tuple[int, datetime, int]]:
    max_rows = MAX_A_MINUTE * (span // MINUTE)
    params: dict[str, Any] = {"since": now - span, "until": now, "most": max_rows}
    with connection.cursor() as cursor:
        cursor.execute(REQUESTS.format(minute=minute), params)
        return [(project, at, int(count)) for project, at, count in cursor.fetchall()]


def _quota(project: Project, used: int, at: datetime | None = None) -> Quota:
    return Quota(project, used, share(used, project.quota_per_minute), at)
