"""Figure: one number of a project, as it was at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models

from notifications.people.project import Project

KEPT = timedelta(days=400)  # a year and the month to compare it with
DATED_KEPT = timedelta(days=36)  # four weeks, and the days that a time zone or a holiday moves


class Figure(models.Model):
    """One number of a project at one moment. `what` names it; the code that counts it knows it."""

    pk = models.CompositePrimaryKey("project_id", "what", "at")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    what = models.CharField(max_length=20)
    # For a number of a day: the midnight at its beginning, in the project's time zone.
    at = models.DateTimeField()
    count = models.BigIntegerField()
    counted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.what} of project {self.project_id}"


# The last figure before each moment: a level that did not change is not written again.
LEVELS = """
SELECT asked.what, asked.at, COALESCE(known.count, 0)
FROM unnest(%(whats)s::text[]) what CROSS JOIN unnest(%(moments)s::timestamptz[]) at
CROSS JOIN LATERAL (SELECT what, at) asked
LEFT JOIN LATERAL (
    SELECT count FROM notifications_figure f
    WHERE f.project_id = %(project)s AND f.what = asked.what AND f.at <= asked.at
    ORDER BY f.at DESC LIMIT 1
) known ON TRUE
"""
Levels = dict[tuple[str, datetime], int]


def levels(project_id: int, whats: Sequence[str], moments: Sequence[datetime]) -> Levels:
    """The levels of growing numbers at these moments."""
    params: dict[str, Any] = {"project": project_id, "whats": list(whats)}
    params["moments"] = list(moments)
    with connection.cursor() as cursor:
        cursor.execute(LEVELS, params)
        return {(what, at): count for what, at, count in cursor.fetchall()}


def since(project_id: int, what: str, first: datetime) -> list[Figure]:
    """The figures from this moment on, the oldest first."""
    return list(Figure.objects.filter(project=project_id, what=what, at__gte=first).order_by("at"))


def newest(project_id: int, what: str) -> Figure | None:
    return Figure.objects.filter(project=project_id, what=what).order_by("-at").first()


KEEP = """
INSERT INTO notifications_figure AS kept (project_id, what, at, count, counted_at)
SELECT %(project)s, %(what)s, at, count, %(now)s
FROM unnest(%(moments)s::timestamptz[], %(counts)s::bigint[]) AS figure (at, count)
ON CONFLICT (project_id, what, at)
DO UPDATE SET count = EXCLUDED.count, counted_at = EXCLUDED.counted_at
"""


def keep(project_id: int, what: str, counts: Mapping[datetime, int], now: datetime) -> None:
    """Store these counts. A number that is counted again replaces the one before."""
    params: dict[str, Any] = {"project": project_id, "what": what, "now": now}
    params |= {"moments": list(counts), "counts": list(counts.values())}
    with connection.cursor() as cursor:
        cursor.execute(KEEP, params)


# The last figure of a level stays, however old: it is the level since then.
PRUNE = """
DELETE FROM notifications_figure old WHERE what = ANY(%(whats)s) AND at < %(before)s AND EXISTS (
    SELECT FROM notifications_figure f WHERE f.project_id = old.project_id AND f.what = old.what
        AND f.at > old.at AND f.at < %(before)s
)
"""


def prune(whats: Sequence[str], before: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(PRUNE, {"whats": list(whats), "before": before})
