"""Device health: how many devices can be reached, and how many came and went.

The counts are cached: all devices are read at most once a minute.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import redis
from django.core.cache import cache
from django.db import connection

from notifications.people.device import Device, seen_at
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values.shares import share

KEPT_SECONDS = 60
WEEK, MONTH = timedelta(days=7), timedelta(days=30)


@dataclass(frozen=True)
class Health:
    """The device counts of one platform, or of all platforms."""

    platform: str
    active: int
    seen: int
    new: int
    retired: int
    reachable: int | None = None  # None: counting the people who opted out takes too long

    @property
    def seen_share(self) -> str:
        return share(self.seen, self.active)


COUNT = f"""
SELECT platform, count(*) FILTER (WHERE retired_at IS NULL),
    count(*) FILTER (WHERE retired_at IS NULL AND {seen_at("d")} > %(month)s),
    count(*) FILTER (WHERE registered_at > %(week)s),
    count(*) FILTER (WHERE retired_at > %(week)s)
FROM notifications_device d WHERE project_id = %(project)s GROUP BY platform
"""


# Starts from the people who get nothing: they are few, as most people are subscribed.
OUT = """
SELECT d.platform, count(*)
FROM (
    SELECT id FROM notifications_contact WHERE project_id = %(project)s AND NOT subscribed
    UNION
    SELECT c.id FROM notifications_suppression s
    JOIN notifications_contact c ON c.project_id = s.project_id AND c.external_id = s.external_id
    WHERE s.project_id = %(project)s
) out
JOIN notifications_device d ON d.contact_id = out.id AND d.retired_at IS NULL
GROUP BY 1
"""


def health(project_id: int | None, now: datetime) -> dict[str, Any]:
    counts = _cached_counts(project_id, now)
    rows = [
        Health(str(platform.label), *counts[platform.value])
        for platform in Device.Platform
        if platform.value in counts
    ]
    columns = zip(*counts.values(), strict=True)
    sums: list[Any] = [None if None in column else sum(column) for column in columns]
    return {"rows": rows, "total": Health("", *sums) if rows else None}


@dataclass(frozen=True)
class Unseen:
    """How many active devices were not seen for some time, of all active devices."""

    devices: int
    of: int
    exact: bool

    @property
    def share(self) -> str:
        return share(self.devices, self.of)


UNSEEN = """
SELECT count(*) FILTER (WHERE last_seen_at < %(since)s), count(*)
FROM notifications_device {part} WHERE project_id = %(project)s AND retired_at IS NULL
"""
COUNTING_SECONDS = 1.0
SAMPLE = 1  # percent of the table, if reading all of it takes too long


def unseen_for(days: int, project_id: int, *, now: datetime) -> Unseen:
    """Count active devices not seen for so many days; if that takes too long, in a sample.

    Raises TooSlow if not even a sample can be counted.
    """
    values: dict[str, Any] = {"since": now - timedelta(days=days), "project": project_id}
    with connection.cursor() as cursor:
        try:
            with statement_timeout(seconds=COUNTING_SECONDS):
                cursor.execute(UNSEEN.format(part=""), values)
                devices, of = cursor.fetchone()
                return Unseen(devices, of, exact=True)
        except TooSlow:
            with statement_timeout(seconds=COUNTING_SECONDS):
                cursor.execute(UNSEEN.format(part=f"TABLESAMPLE SYSTEM ({SAMPLE})"), values)
                devices, of = (count * 100 // SAMPLE for count in cursor.fetchone())
                return Unseen(devices, of, exact=False)


def _cached_counts(project_id: int | None, now: datetime) -> dict[str, list[Any]]:
    """The counts from the cache. If the cache is down, the page is slower, not broken."""
    try:
        key = f"device-reach-{project_id}"
        cached = cache.get_or_set(key, lambda: _count_devices(project_id, now), KEPT_SECONDS)
    except redis.RedisError:
        cached = None
    return cached or _count_devices(project_id, now)


def _count_devices(project_id: int | None, now: datetime) -> dict[str, list[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"week": now - WEEK, "month": now - MONTH, "project": project_id})
        counts = {row[0]: list(row[1:]) for row in cursor.fetchall()}
    out = _count_opted_out(project_id)
    return {
        platform: [*row, None if out is None else row[0] - out.get(platform, 0)]
        for platform, row in counts.items()
    }


def _count_opted_out(project_id: int | None) -> dict[str, int] | None:
    """Active devices of people who unsubscribed or are suppressed; None: counting is too slow."""
    with (
        suppress(TooSlow),
        statement_timeout(seconds=COUNTING_SECONDS),
        connection.cursor() as cursor,
    ):
        cursor.execute(OUT, {"project": project_id})
        return dict(cursor.fetchall())
    return None
