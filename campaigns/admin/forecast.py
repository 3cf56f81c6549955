"""What a launch would do: how many people, on which devices, and how long it takes at this rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.budget import TooSlow, within
from campaigns.engine import ONE_WORKER
from campaigns.selection import PEOPLE_AND_DEVICES, compile_tree
from notifications.device import Device
from notifications.moments import in_words
from notifications.pacing import cold_rate, full_rate
from notifications.project import Project


@dataclass(frozen=True)
class Reach:
    """People the rules select, and the devices on which they can be reached."""

    people: int
    reachable_people: int
    devices: int
    platforms: dict[str, int]
    exact: bool = True

    @property
    def unreachable_people(self) -> int:
        return self.people - self.reachable_people


@dataclass(frozen=True)
class Pace:
    """The lowest of three limits, which one it is, and the climb to it from a cold start."""

    rate: float
    limit: str
    start: float = 0.0
    climb: float = 0.0  # messages a second, gained each second; 0: at once

    def seconds(self, devices: int) -> float:
        if not self.climb or self.start >= self.rate:
            return devices / self.rate
        climbing = (self.rate - self.start) / self.climb
        climbed = climbing * (self.start + self.rate) / 2
        if devices > climbed:
            return climbing + (devices - climbed) / self.rate
        # start · t + climb · t² / 2 = devices
        return (math.sqrt(self.start**2 + 2 * self.climb * devices) - self.start) / self.climb


# People first, then their sum: counting distinct people in one step sorts every device, and takes
# twice as long (1.5 s instead of 0.8 s for a million people).
REACH = """
SELECT count(*), count(*) FILTER (WHERE devices > 0), {sums}
FROM (
    SELECT count(d.id) AS devices, {counts}
    FROM {source} WHERE c.project_id = %s AND {where} GROUP BY c.id
) person
"""
# Whole pages of the table, chosen at random. A number that jumps while nothing changed would be
# doubted, so the same ones each time.
ONE_IN_TWENTY = PEOPLE_AND_DEVICES.replace(
    "notifications_contact c", "notifications_contact c TABLESAMPLE SYSTEM (5) REPEATABLE (1)"
)
PLATFORMS = tuple(Device.Platform)


def reach(
    project_id: int, tree: dict[str, Any], *, source: str = PEOPLE_AND_DEVICES, times: int = 1
) -> Reach:
    """Everybody, counted; or one in `times` of them, extrapolated from the `source` of those."""
    where = compile_tree(tree)
    statement = REACH.format(
        sums=", ".join(f"COALESCE(sum({name}), 0)::bigint" for name in PLATFORMS),
        counts=", ".join(
            f"count(*) FILTER (WHERE d.platform = '{name}') AS {name}" for name in PLATFORMS
        ),
        source=source,
        where=where.sql,
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [project_id, *where.params])
        people, reachable, *devices = (count * times for count in cursor.fetchone())
    labels = (str(platform.label) for platform in PLATFORMS)
    by_platform = dict(zip(labels, devices, strict=True))
    found = {name: count for name, count in by_platform.items() if count}
    return Reach(people, reachable, sum(devices), found, exact=times == 1)


def quick_reach(project_id: int, tree: dict[str, Any], *, seconds: float = 2) -> Reach:
    """Exact when that is quick, else an estimate: nobody waits for a number while typing."""
    try:
        with within(seconds=seconds):
            return reach(project_id, tree)
    except TooSlow:
        return reach(project_id, tree, source=ONE_IN_TWENTY, times=20)


def pace(project: Project, rate_per_second: int | None) -> Pace:
    """Of one run alone, from a cold start: others of the project may take their part."""
    limits = [
        (full_rate(project), _("80 %% of the project's FCM quota") % {}),
        (float(ONE_WORKER * settings.WORKERS), in_workers(settings.WORKERS)),
    ]
    if rate_per_second:
        limits.append((float(rate_per_second), _("the campaign's own rate")))
    rate, limit = min(limits)
    start = cold_rate(project)
    if not project.ramp_seconds or start >= rate:
        return Pace(rate, limit)
    climb = full_rate(project) / project.ramp_seconds
    said = _("%(limit)s, reached in %(time)s")
    said %= {"limit": limit, "time": in_words((rate - start) / climb)}
    return Pace(rate, said, start, climb)


def in_workers(count: int) -> str:
    said = ngettext("%(count)s worker process", "%(count)s worker processes", count)
    return said % {"count": count}
