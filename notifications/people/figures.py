"""Stored numbers of people and devices, so that no page counts millions of rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import redis
from django.core.cache import cache
from django.db import connection, models, transaction

from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, statement_timeout

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
SELECT point.what, point.at, COALESCE(known.count, 0)
FROM unnest(%(whats)s::text[]) what CROSS JOIN unnest(%(moments)s::timestamptz[]) at
CROSS JOIN LATERAL (SELECT what, at) point
LEFT JOIN LATERAL (
    SELECT count FROM notifications_figure f
    WHERE f.project_id = %(project)s AND f.what = point.what AND f.at <= point.at
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


log = logging.getLogger(__name__)

REACHABLE, OPTED_OUT, DEAD = "reachable", "opted_out", "dead"
DAILY = (REACHABLE, OPTED_OUT, DEAD)
COUNTING_SECONDS = 20.0  # five million people take three
TRIED_SECONDS = 86_400  # if counting takes too long, it is tried again the next day

# Starts from the people who get nothing, as they are few; see device_health.py.
COUNT_REACHABLE = """
SELECT (
    SELECT count(*) FROM (
        SELECT DISTINCT contact_id FROM notifications_device
        WHERE project_id = %(project)s AND retired_at IS NULL
    ) having_one
) - (
    SELECT count(*) FROM (
        SELECT id FROM notifications_contact WHERE project_id = %(project)s AND NOT subscribed
        UNION
        SELECT c.id FROM notifications_suppression s JOIN notifications_contact c
            ON c.project_id = s.project_id AND c.external_id = s.external_id
        WHERE s.project_id = %(project)s
    ) out WHERE EXISTS (
        SELECT FROM notifications_device d WHERE d.project_id = %(project)s
            AND d.contact_id = out.id AND d.retired_at IS NULL
    )
)
"""
# Each is served by an index of its own.
HAPPENED = {
    OPTED_OUT: """SELECT at FROM notifications_consentchange
        WHERE project_id = %(project)s AND category = '' AND NOT wanted AND at >= %(since)s""",
    DEAD: """SELECT retired_at AS at FROM notifications_device
        WHERE project_id = %(project)s AND retired_by <> '' AND retired_at >= %(since)s
            AND retired_by NOT LIKE 'rehearsal:%%'""",  # a rehearsal does it on request: no news
}
# A day on which nothing happened gets a row, too: it shows that the day was counted. Only Python
# computes midnights: where clocks change at midnight, PostgreSQL begins some days elsewhere.
COUNT_HAPPENED = """
INSERT INTO notifications_figure (project_id, what, at, count, counted_at)
SELECT %(project)s, %(what)s, day.begins, count(happened.at), %(now)s
FROM unnest(%(midnights)s::timestamptz[]) WITH ORDINALITY AS day (begins, number)
LEFT JOIN ({rows}) happened
    ON width_bucket(happened.at, %(midnights)s::timestamptz[]) = day.number
GROUP BY day.begins
ON CONFLICT (project_id, what, at)
DO UPDATE SET count = EXCLUDED.count, counted_at = EXCLUDED.counted_at
"""


def keep_days(project: Project, now: datetime) -> None:
    """Count the reachable people once a day, and what happened up to this moment."""
    today = midnight(project.timezone, now)
    last = newest(project.pk, REACHABLE)
    begun = midnight(project.timezone, max(project.created_at, now - KEPT))
    with transaction.atomic():
        for figure, rows in HAPPENED.items():
            _keep_happened(
                project, figure, rows, since=min(last.at if last else begun, today), now=now
            )
    if last is None or last.at < today:
        _keep_reachable(project, today, now)


def forget_old(now: datetime) -> None:
    prune(DAILY, now - KEPT)


def midnight(zone: str, now: datetime) -> datetime:
    """When the current day began in this zone, in UTC.

    In UTC, because Python never finds a midnight that a clock skips or shows twice equal to a time
    of another zone.
    """
    here = ZoneInfo(zone)
    return _begin_of(now.astimezone(here).date(), here)


def _begin_of(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def _midnights(zone: str, since: datetime, until: datetime) -> list[datetime]:
    clock = ZoneInfo(zone)
    first, last = (at.astimezone(clock).date() for at in (since, until))
    return [_begin_of(first + timedelta(days=n), clock) for n in range((last - first).days + 1)]


def _keep_happened(
    project: Project, figure: str, rows: str, *, since: datetime, now: datetime
) -> None:
    midnights = _midnights(project.timezone, since, now)
    params: dict[str, Any] = {"project": project.pk, "what": figure, "now": now}
    params |= {"since": midnights[0], "midnights": midnights}
    with connection.cursor() as cursor:
        cursor.execute(COUNT_HAPPENED.format(rows=rows), params)


def _keep_reachable(project: Project, today: datetime, now: datetime) -> None:
    try:
        # Only one tick a day counts the people.
        if not cache.add(f"reachable-tried-{project.pk}-{today:%Y-%m-%d}", True, TRIED_SECONDS):
            return
        with statement_timeout(seconds=COUNTING_SECONDS), connection.cursor() as cursor:
            cursor.execute(COUNT_REACHABLE, {"project": project.pk})
            (count,) = cursor.fetchone()
    except (TooSlow, redis.RedisError) as error:
        log.warning("project=%s: who can be reached is not counted: %r", project.pk, error)
        return
    keep(project.pk, REACHABLE, {today: count}, now)
