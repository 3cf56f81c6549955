"""Forecast: the rate that a launch may reach, the limit that sets it, and the climb to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.engagement.opening import OpenRate, load_open_rate
from campaigns.forecast.solver.capacity import Capacity
from campaigns.runs.chunk import ONE_WORKER
from campaigns.runs.policy import OWN_PACE
from campaigns.runs.run import Run
from campaigns.runs.sums import average_rate
from notifications.pacing.gate import Limit, cold_rate, full_rate
from notifications.pacing.load import Load, between
from notifications.people.project import Project
from notifications.values.moments import in_words
from notifications.values.shares import share

LAST_RUNS = 3  # the fastest of them counts: what slowed one run need not slow the next
LOOKED_AT = 50
MEASURABLE = 500  # messages; a run of fewer is over before it has a rate
ALIKE = 10  # times larger or smaller; at other sizes, start and end weigh differently
STANDS_STILL = timedelta(minutes=1)  # without a request: people slept, or FCM was away
MOSTLY_SENT = 0.8  # of its people: skipping people takes time, too
HELD_BY_ITS_OWN = 0.8  # of its own rate: above this, that rate was the limit, not our speed


Limited = tuple[float, Limit, str]  # a rate, its limit, and the limit in words


@dataclass(frozen=True)
class RateForecast:
    """The rate that the lowest limit allows, which limit it is, and the climb from a cold start."""

    rate: float
    by: Limit
    limit: str  # the same in words
    start: float = 0.0
    climb: float = 0.0  # messages a second, gained each second; 0: at once
    measured: bool = False  # True: earlier runs were this fast; False: it may be this fast

    def seconds(self, devices: int) -> float:
        if not self._climbs:
            return devices / self.rate
        if devices > self._climbed:
            return self._climbing + (devices - self._climbed) / self.rate
        # start · t + climb · t² / 2 = devices
        return (math.sqrt(self.start**2 + 2 * self.climb * devices) - self.start) / self.climb

    @property
    def capacity(self) -> Capacity:
        cold = self.start if self._climbs else None
        return Capacity(self.rate, cold=cold, climb=self.climb)

    @property
    def in_words(self) -> str:
        return number(self.rate)

    def devices(self, seconds: float) -> int:
        """Return how many devices it reaches in that time."""
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


def forecast_rate(
    project: Project,
    rate_per_second: float | None,
    devices: int | None = None,
    *,
    spread_seconds: int | None = None,
    opens_per_second: int | None = None,
    load: Load | None = None,
) -> RateForecast:
    """Forecast one run alone, from a cold start: other runs of the project may take a share.

    With `devices`, it is no faster than the last runs of that size were. With `load`, it is no
    faster than the project's servers bear, if they stay as busy as they report.
    """
    limits = [
        (full_rate(project), Limit.QUOTA, _("80 %% of the project's FCM quota") % {}),
        (float(ONE_WORKER * settings.WORKERS), Limit.WORKERS, in_workers(settings.WORKERS)),
    ]
    if rate_per_second:
        limits.append((float(rate_per_second), Limit.RATE, _("the campaign's own rate")))
    if spread_seconds and devices:
        text = _("so that it takes %(time)s") % {"time": in_words(spread_seconds)}
        limits.append((devices / spread_seconds, Limit.RATE, text))
    if opens_per_second and (opening := load_open_rate(project.pk, timezone.now())).known:
        text = _describe_open_limit(opens_per_second, opening)
        limits.append((opening.rate(opens_per_second), Limit.RATE, text))
    lowest = _limit_by_load(min(limits, key=lambda limit: limit[0]), project, load)
    reckoned = _from_a_cold_start(project, *lowest)
    measured = _as_measured(project, devices) if devices else None
    if measured is None or measured.seconds(devices or 0) <= reckoned.seconds(devices or 0):
        return reckoned
    return measured


def _limit_by_load(lowest: Limited, project: Project, load: Load | None) -> Limited:
    if load is None or not load.level:
        return lowest
    rate = between(project.floor_per_second, lowest[0], load.level)
    text = _("your servers say that they are %(level)s busy") % {"level": load}
    return (rate, Limit.LOAD, text) if rate < lowest[0] else lowest


def _describe_open_limit(opens_per_second: int, opening: OpenRate) -> str:
    """Name the runs that the limit was learned from, so that people can judge if they are alike."""
    text = ngettext(
        "so that at most %(most)s a second open it, as %(share)s %% did of run %(runs)s",
        "so that at most %(most)s a second open it, as %(share)s %% did of runs %(runs)s",
        len(opening.runs),
    )
    words = {"most": f"{opens_per_second:,}", "share": share(opening.opened, opening.able)}
    return text % {**words, "runs": ", ".join(map(str, sorted(opening.runs)))}


def _from_a_cold_start(project: Project, rate: float, by: Limit, limit: str) -> RateForecast:
    start = cold_rate(project)
    if not project.longest_ramp or start >= rate:
        return RateForecast(rate, by, limit)
    climb = full_rate(project) / project.longest_ramp
    text = _("%(limit)s, reached in %(time)s")
    text %= {"limit": limit, "time": in_words((rate - start) / climb)}
    return RateForecast(rate, by, text, start, climb)


def _as_measured(project: Project, devices: int) -> RateForecast | None:
    """Return how fast the last runs of that size were, from start to end, by their rows."""
    rates = list(islice(_measured_rates(project, devices), LAST_RUNS))
    if not rates:
        return None
    text = ngettext(
        "as fast as your last run", "as fast as the fastest of your last %(count)s runs", len(rates)
    ) % {"count": len(rates)}
    return RateForecast(max(rates), Limit.WORKERS, text, measured=True)


def _measured_rates(project: Project, devices: int) -> Iterator[float]:
    """Yield the rates of runs that nothing held up: not paused, not sent again, without a wait for
    a first part or for people's mornings, and slower than their own rate, if any."""
    straight = Run.objects.filter(
        project=project.pk, state=Run.State.FINISHED, resumed_at=None, reopened_at=None,
        started_at__isnull=False, first_percent=None, forgotten_at=None,
    )  # fmt: skip
    columns = straight.only(*OWN_PACE, "skipped", "started_at", "finished_at")
    for run in columns[:LOOKED_AT]:
        if run.started_at is None or run.finished_at is None:
            continue
        sent_devices, own = (run.planned or 0) - run.skipped, run.own_rate
        rate = average_rate(sent_devices, run.started_at, run.finished_at)
        alike = devices / ALIKE <= sent_devices <= devices * ALIKE
        mostly = sent_devices >= MOSTLY_SENT * (run.planned or 0)
        is_held = own and rate > own * HELD_BY_ITS_OWN
        if (
            sent_devices >= MEASURABLE
            and alike
            and mostly
            and not is_held
            and not _stood_still(run)
        ):
            yield rate


LONGEST_GAP = """
SELECT max(opened_at - before) FROM (
    SELECT opened_at, lag(opened_at) OVER (ORDER BY opened_at) AS before
    FROM campaigns_window WHERE run_id = %s
) each
"""


def _stood_still(run: Run) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(LONGEST_GAP, [run.pk])
        longest: timedelta | None = cursor.fetchone()[0]
    return longest is not None and longest > STANDS_STILL


def number(rate: float) -> str:
    """Format messages a second, as precisely as is useful."""
    if rate < 1:
        return f"{rate:.2g}"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}".removesuffix(".0")


def in_workers(count: int) -> str:
    text = ngettext("%(count)s worker process", "%(count)s worker processes", count)
    return text % {"count": count}
