"""What a launch would do: how many people, on which devices, and how long it takes at this rate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences import sampling
from campaigns.audiences.selection import PEOPLE_AND_DEVICES, compile_tree
from campaigns.runs.chunk import ONE_WORKER
from campaigns.runs.pace import in_workers
from notifications.pace.pacing import cold_rate, full_rate
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, within
from notifications.values.moments import in_words

EXACT_SECONDS = 5.0  # of a web thread


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


NOBODY = Reach(0, 0, 0, {})


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
PLATFORMS = tuple(Device.Platform)


def reach(project_id: int, tree: dict[str, Any], *, part: sampling.Part | None = None) -> Reach:
    """Everybody, counted; or a part of them, extrapolated."""
    where = compile_tree(tree)
    statement = REACH.format(
        sums=", ".join(f"COALESCE(sum({name}), 0)::bigint" for name in PLATFORMS),
        counts=", ".join(
            f"count(*) FILTER (WHERE d.platform = '{name}') AS {name}" for name in PLATFORMS
        ),
        source=part.source if part else PEOPLE_AND_DEVICES,
        where=where.sql,
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [project_id, *where.params])
        counts = cursor.fetchone()
    people, reachable, *devices = (part.all(count) if part else count for count in counts)
    labels = (str(platform.label) for platform in PLATFORMS)
    by_platform = dict(zip(labels, devices, strict=True))
    found = {name: count for name, count in by_platform.items() if count}
    return Reach(people, reachable, sum(devices), found, exact=part is None)


def quick_reach(project_id: int, tree: dict[str, Any]) -> Reach:
    """Exact when that is quick, else an estimate: nobody waits for a number while typing."""
    return _in_time(project_id, tree, sampling.BUDGET_SECONDS)


def exact_reach(project_id: int, tree: dict[str, Any]) -> Reach:
    """Before a launch, the real number is worth some seconds."""
    return _in_time(project_id, tree, EXACT_SECONDS)


def _in_time(project_id: int, tree: dict[str, Any], seconds: float) -> Reach:
    """Raises Uncountable, after a second more, when not even a part can be counted."""
    try:
        with within(seconds=seconds):
            return reach(project_id, tree)
    except TooSlow:
        with uncountable(), within(seconds=sampling.PART_SECONDS):
            return reach(project_id, tree, part=sampling.part())


class Uncountable(ValidationError):
    """These rules hold PostgreSQL up for longer than anybody waits."""


@contextmanager
def uncountable() -> Iterator[None]:
    try:
        yield
    except TooSlow as error:
        raise Uncountable(
            _("It takes too long to look with these rules. Use fewer of them, or shorter lists "
              "of values.")
        ) from error  # fmt: skip


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
    if not project.longest_ramp or start >= rate:
        return Pace(rate, limit)
    climb = full_rate(project) / project.longest_ramp
    said = _("%(limit)s, reached in %(time)s")
    said %= {"limit": limit, "time": in_words((rate - start) / climb)}
    return Pace(rate, said, start, climb)
