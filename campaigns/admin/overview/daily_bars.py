"""Daily bars: today compared with usual days, and two weeks as bars, without a script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from math import ceil
from statistics import median
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from campaigns.admin.overview import charts
from campaigns.admin.overview.charts import Axis, Bar
from campaigns.figures import sent
from campaigns.figures.sent import ACCEPTED, CAMPAIGNS, FAILED, MESSAGES, SoFar
from notifications.admin.ui.axis import Tick
from notifications.people.figures import midnight
from notifications.people.project import Project
from notifications.values.shares import share

DAYS_SHOWN = 14
DAYS_READ = 28  # days, for what is usual
A_WEEK = timedelta(days=7)  # with less history, there is no usual value


@dataclass(frozen=True)
class Day:
    """FCM's answers on a day, from midnight on, and the day's bar, from the bottom up."""

    day: date
    campaigns: int
    messages: int
    failed: int
    bars: tuple[Bar | None, ...] = ()

    @property
    def accepted(self) -> int:
        return self.campaigns + self.messages

    @property
    def all(self) -> int:
        return self.accepted + self.failed

    @property
    def short(self) -> str:
        return charts.short_name_of(self.day)

    @property
    def name(self) -> str:
        return charts.name_of(self.day)

    @property
    def failed_share(self) -> str:
        return share(self.failed, self.all)


@dataclass(frozen=True)
class Days:
    """The content of the overview's card."""

    today: Day
    campaigns: SoFar
    messages: SoFar
    usual_failed: str | None
    shown: list[Day]
    width: float
    heights: list[Tick]
    usual_day: float | None
    usual_at: float
    verdict: str
    weekday: str
    as_of: datetime | None  # None: now

    @property
    def any(self) -> bool:
        return any(day.all for day in self.shown)

    @property
    def any_messages(self) -> bool:
        return any(day.messages for day in self.shown) or bool(self.messages.usual)


def days_of(project: Project, now: datetime) -> Days:
    stand = sent.stand_of(project, now)
    so_far = sent.so_far(project, stand, now)
    days = _days(project, stand, now)
    today, before = days[-1], [day for day in days[:-1] if day.all]
    if before and today.day - before[0].day < A_WEEK:
        before = []
    usual = median(day.accepted for day in before) if before else None
    days_shown = days[-DAYS_SHOWN:]
    axis = Axis.for_counts([day.all for day in days_shown] + [usual or 0])
    failed = share(sum(day.failed for day in before), sum(day.all for day in before))
    return Days(
        today=today,
        campaigns=so_far[CAMPAIGNS],
        messages=so_far[MESSAGES],
        usual_failed=failed if before else None,
        shown=_with_bars(days_shown, axis),
        width=charts.bar_width(DAYS_SHOWN),
        heights=axis.heights,
        usual_day=usual,
        usual_at=axis.at(usual or 0),
        verdict=_verdict(today, so_far),
        weekday=date_format(today.day, "l"),
        as_of=stand.at,
    )


def _days(project: Project, stand: sent.Stand, now: datetime) -> list[Day]:
    zone = ZoneInfo(project.timezone)
    today = now.astimezone(zone).date()
    dates = [today - timedelta(days=ago) for ago in range(DAYS_READ, -1, -1)]
    midnights = [midnight(project.timezone, _noon(day, zone)) for day in dates]
    counts = sent.stretches(project, stand, midnights)
    return [
        Day(
            day,
            campaigns=count[f"{CAMPAIGNS}:{ACCEPTED}"],
            messages=count[f"{MESSAGES}:{ACCEPTED}"],
            failed=count[f"{CAMPAIGNS}:{FAILED}"] + count[f"{MESSAGES}:{FAILED}"],
        )
        for day, count in zip(dates, counts, strict=True)
    ]


def _noon(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=zone)


def _with_bars(days: list[Day], axis: Axis) -> list[Day]:
    parts = [(day.campaigns, day.messages, day.failed) for day in days]
    drawn = zip(days, charts.stacks(parts, axis), strict=True)
    return [replace(day, bars=tuple(bars)) for day, bars in drawn]


def _verdict(today: Day, so_far: dict[str, SoFar]) -> str:
    known = [part_of_day.usual for part_of_day in so_far.values() if part_of_day.usual is not None]
    words = {"weekday": date_format(today.day, "l")}
    if not known:
        return _("In a week you can compare with the same hours of a %(weekday)s.") % words
    usual = ceil(sum(known))
    if not today.all and not usual:
        return _("Nothing was sent today, as usual by this time on a %(weekday)s.") % words
    if not today.all:
        return _("Nothing was sent today.")
    if not usual:
        return _("Usually nothing is sent by this time on a %(weekday)s.") % words
    words["share"] = share(today.accepted, usual)
    return _("%(share)s %% of what is usual by this time on a %(weekday)s.") % words
