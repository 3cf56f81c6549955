"""Device health: who can be reached, who came and who went. One reading of all devices a minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import redis
from django.core.cache import cache
from django.db import connection

from notifications.people.device import Device
from notifications.values.shares import share

KEPT_SECONDS = 60
WEEK, MONTH = timedelta(days=7), timedelta(days=30)


@dataclass(frozen=True)
class Health:
    """One platform's devices, or all of them."""

    platform: str
    active: int
    seen: int
    new: int
    retired: int

    @property
    def seen_share(self) -> str:
        return share(self.seen, self.active)


COUNT = """
SELECT platform, count(*) FILTER (WHERE retired_at IS NULL),
    count(*) FILTER (WHERE retired_at IS NULL AND last_seen_at > %(month)s),
    count(*) FILTER (WHERE registered_at > %(week)s),
    count(*) FILTER (WHERE retired_at > %(week)s)
FROM notifications_device WHERE project_id = %(project)s GROUP BY platform
"""


def health(project_id: int | None, now: datetime) -> dict[str, Any]:
    counts = _kept(project_id, now)
    rows = [
        Health(str(platform.label), *counts[platform.value])
        for platform in Device.Platform
        if platform.value in counts
    ]
    sums = (sum(column) for column in zip(*counts.values(), strict=True))
    return {"rows": rows, "total": Health("", *sums) if rows else None}


def _kept(project_id: int | None, now: datetime) -> dict[str, list[int]]:
    """From the cache, which may be away: then the page is slower, not broken."""
    try:
        key = f"device-health-{project_id}"
        kept = cache.get_or_set(key, lambda: _counted(project_id, now), KEPT_SECONDS)
    except redis.RedisError:
        kept = None
    return kept or _counted(project_id, now)


def _counted(project_id: int | None, now: datetime) -> dict[str, list[int]]:
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"week": now - WEEK, "month": now - MONTH, "project": project_id})
        return {row[0]: list(row[1:]) for row in cursor.fetchall()}
