"""Today against a usual day: the last two weeks as bars, drawn here so that no script is needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil
from statistics import median
from zoneinfo import ZoneInfo

from django.db.models import F, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from campaigns.runs.run import Run
from notifications.admin.furniture.axis import Mark, nice_top
from notifications.values.shares import share

DAYS_SHOWN = 14
DAYS_READ = 28  # days, for what is usual
BAR, GAP, HEIGHT = 36.0, 14.0, 150.0


@dataclass(frozen=True)
class Day:
    """A day's outcomes, by the day its runs started, and its bar from the ground up."""

    day: date
    accepted: int
    failed: int
    left: float = 0.0
    accepted_top: float = 0.0
    accepted_height: float = 0.0
    failed_top: float = 0.0
    failed_height: float = 0.0

    @property
    def short(self) -> str:
        return date_format(self.day, pgettext("date format", "D j"))

    @property
    def name(self) -> str:
        return date_format(self.day, pgettext("date format", "j F"))

    @property
    def failed_share(self) -> str:
        return share(self.failed, self.accepted + self.failed)


@dataclass(frozen=True)
class Days:
    """What the card shows."""

    today: Day
    usual: float | None  # accepted; None while there is no day to compare with
    usual_failed: str
    bars: list[Day]
    width: float
    heights: list[Mark]
    usual_at: float
    verdict: str

    @property
    def any(self) -> bool:
        return any(day.accepted or day.failed for day in self.bars)


def days_of(runs: QuerySet[Run], now: datetime, zone: str) -> Days:
    here = ZoneInfo(zone)
    today = now.astimezone(here).date()
    first = datetime.combine(today - timedelta(days=DAYS_READ), datetime.min.time(), here)
    found = {
        row["day"]: Day(row["day"], row["accepted"], row["failed"])
        for row in runs.filter(started_at__gte=first)
        .annotate(day=TruncDate("started_at", tzinfo=here))
        .values("day")
        .annotate(failed=Sum(F("rejected") + F("unknown")), accepted=Sum("accepted"))
        .order_by("day")
    }
    before = [day for day in found.values() if day.day < today and day.accepted + day.failed]
    usual = median(day.accepted for day in before) if before else None
    shown = [today - timedelta(days=ago) for ago in range(DAYS_SHOWN - 1, -1, -1)]
    bars = [found.get(day, Day(day, 0, 0)) for day in shown]
    top = nice_top(max([day.accepted + day.failed for day in bars] + [usual or 0, 1]))
    return Days(
        today=bars[-1],
        usual=usual,
        usual_failed=share(
            sum(d.failed for d in before), sum(d.accepted + d.failed for d in before)
        ),
        bars=[_drawn(day, slot, top) for slot, day in enumerate(bars)],
        width=DAYS_SHOWN * (BAR + GAP),
        heights=[Mark(100 * (1 - part), f"{top * part:,.0f}") for part in (1.0, 0.5, 0.0)],
        usual_at=HEIGHT - HEIGHT * (usual or 0) / top,
        verdict=_verdict(bars[-1], usual),
    )


def _drawn(day: Day, slot: int, top: float) -> Day:
    accepted, failed = HEIGHT * day.accepted / top, HEIGHT * day.failed / top
    # A few failures among very many must not vanish: they get a visible line.
    failed = max(failed, 2.0) if day.failed else 0.0
    return Day(
        day.day,
        day.accepted,
        day.failed,
        left=slot * (BAR + GAP) + GAP / 2,
        accepted_top=HEIGHT - accepted,
        accepted_height=accepted,
        failed_top=max(0.0, HEIGHT - accepted - failed),
        failed_height=failed,
    )


def _verdict(today: Day, usual: float | None) -> str:
    if usual is None:
        return _("First day: you can compare from tomorrow on.")
    if not today.accepted + today.failed:
        return _("Nothing was sent today.")
    if not usual:
        return ""  # every other day failed as a whole
    part = share(today.accepted, ceil(usual))
    return _("%(share)s %% of a usual day, so far.") % {"share": part}
