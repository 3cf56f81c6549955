"""How long would it take? The rate a launch may reach, which limit says so, and the climb to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.runs.chunk import ONE_WORKER
from notifications.pace.gate import Limit, cold_rate, full_rate
from notifications.people.project import Project
from notifications.values.moments import in_words


@dataclass(frozen=True)
class Forecast:
    """The lowest of three limits, which one it is, and the climb to it from a cold start."""

    rate: float
    by: Limit
    limit: str  # the same in words
    start: float = 0.0
    climb: float = 0.0  # messages a second, gained each second; 0: at once

    def seconds(self, devices: int) -> float:
        if not self._climbs:
            return devices / self.rate
        if devices > self._climbed:
            return self._climbing + (devices - self._climbed) / self.rate
        # start · t + climb · t² / 2 = devices
        return (math.sqrt(self.start**2 + 2 * self.climb * devices) - self.start) / self.climb

    def devices(self, seconds: float) -> int:
        """How many it reaches in that time."""
        if not self._climbs:
            return int(seconds * self.rate)
        if seconds > self._climbing:
            return int(self._climbed + (seconds - self._climbing) * self.rate)
        return int(self.start * seconds + self.climb * seconds**2 / 2)

    @property
    def _climbs(self) -> bool:
        return self.climb > 0 and self.start < self.rate

    @property
    def _climbing(self) -> float:
        return (self.rate - self.start) / self.climb

    @property
    def _climbed(self) -> float:
        return self._climbing * (self.start + self.rate) / 2


def foretell(project: Project, rate_per_second: int | None) -> Forecast:
    """Of one run alone, from a cold start: others of the project may take their part."""
    limits = [
        (full_rate(project), Limit.QUOTA, _("80 %% of the project's FCM quota") % {}),
        (float(ONE_WORKER * settings.WORKERS), Limit.WORKERS, in_workers(settings.WORKERS)),
    ]
    if rate_per_second:
        limits.append((float(rate_per_second), Limit.RATE, _("the campaign's own rate")))
    rate, by, limit = min(limits, key=lambda one: one[0])
    start = cold_rate(project)
    if not project.longest_ramp or start >= rate:
        return Forecast(rate, by, limit)
    climb = full_rate(project) / project.longest_ramp
    said = _("%(limit)s, reached in %(time)s")
    said %= {"limit": limit, "time": in_words((rate - start) / climb)}
    return Forecast(rate, by, said, start, climb)


def in_workers(count: int) -> str:
    said = ngettext("%(count)s worker process", "%(count)s worker processes", count)
    return said % {"count": count}
