"""What a launch would do: how many people, on which devices, and how long it takes at this rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from campaigns.engine import ONE_WORKER
from campaigns.selection import PEOPLE_AND_DEVICES, compile_tree
from notifications.device import Device
from notifications.pacing import HEADROOM
from notifications.project import Project


@dataclass(frozen=True)
class Reach:
    """People the rules select, and the devices on which they can be reached."""

    people: int
    reachable_people: int
    devices: int
    platforms: dict[str, int]

    @property
    def unreachable_people(self) -> int:
        return self.people - self.reachable_people


@dataclass(frozen=True)
class Pace:
    """The lowest of three limits, and which one it is."""

    rate: float
    limit: str

    def seconds(self, devices: int) -> float:
        return devices / self.rate


REACH = """
SELECT d.platform, GROUPING(d.platform), count(DISTINCT c.id),
    count(DISTINCT c.id) FILTER (WHERE d.id IS NOT NULL), count(d.id)
FROM {source} WHERE c.project_id = %s AND {where} GROUP BY GROUPING SETS ((d.platform), ())
"""


def reach(project_id: int, tree: dict[str, Any]) -> Reach:
    where = compile_tree(tree)
    with connection.cursor() as cursor:
        cursor.execute(
            REACH.format(source=PEOPLE_AND_DEVICES, where=where.sql), [project_id, *where.params]
        )
        rows = cursor.fetchall()
    _, _, people, reachable, devices = next(row for row in rows if row[1])
    by_platform = {row[0]: row[4] for row in rows if not row[1] and row[0]}
    names = {str(value): str(label) for value, label in Device.Platform.choices}
    return Reach(
        people,
        reachable,
        devices,
        {name: by_platform[value] for value, name in names.items() if value in by_platform},
    )


def pace(project: Project, rate_per_second: int | None) -> Pace:
    limits = [
        Pace(project.quota_per_minute * HEADROOM / 60, "80 % of the project's FCM quota"),
        Pace(float(ONE_WORKER * settings.WORKERS), _workers(settings.WORKERS)),
    ]
    if rate_per_second:
        limits.append(Pace(float(rate_per_second), "the campaign's own rate"))
    return min(limits, key=lambda limit: limit.rate)


def _workers(count: int) -> str:
    return f"{count} worker process{'' if count == 1 else 'es'}"
