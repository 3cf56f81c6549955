"""Rhythm: the instants of a daily, weekly or monthly time on the clocks of a time zone."""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"
WORKDAYS, LAST_DAY = "workdays", "last_day"  # which of its days; empty: each
SATURDAY = 5
MINUTE = timedelta(minutes=1)
END = datetime(2100, 12, 31, 23, 59, tzinfo=UTC)  # the end of every rhythm: dates themselves end
MAX_LEFT_OUT = 1_000  # days in a row: a rhythm with more has no day at all


@dataclass(frozen=True)
class Rhythm:
    """A rhythm at the same time on the wall clock of `zone`, from `first` to `until`."""

    first: datetime
    repeat: str
    zone: str
    until: datetime | None = None
    every: int = 1  # so many days, weeks or months
    on_days: str = ""
    weekdays: tuple[int, ...] = ()  # of a week, Monday is 0; none: that of `first`
    days_off: frozenset[date] = frozenset()

    def next_after(self, moment: datetime) -> datetime | None:
        return next(self.after(moment), None)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Yield every occurrence later than `moment`: at most one per calendar day."""
        if max(moment, self.first) >= END:
            return
        until, left_out = min(self.until or END, END), 0
        for number in count(self._just_before(moment)):
            day = self._day(number)
            instant = self._instant(day)
            if instant > until or left_out > MAX_LEFT_OUT:
                return
            if not self._is_on(day):
                left_out += 1
                continue
            left_out = 0
            if instant > moment:
                yield instant

    def intended_time(self, shown: datetime) -> datetime:
        """Return its time on that day, even if a clock change makes the clocks show another."""
        return datetime.combine(shown.date(), self._wall.time())

    def _is_on(self, day: date) -> bool:
        weekend = self.on_days == WORKDAYS and day.weekday() >= SATURDAY
        too_early = day < self._wall.date()  # a day of the first week before the start
        return day not in self.days_off and not (weekend or too_early)

    @property
    def _wall(self) -> datetime:
        return self.first.astimezone(ZoneInfo(self.zone))

    def _just_before(self, moment: datetime) -> int:
        """Return the number of an occurrence that is surely not later."""
        today, start = moment.astimezone(ZoneInfo(self.zone)).date(), self._start
        months = 12 * (today.year - start.year) + today.month - start.month
        days = (today - start).days
        passed = {DAILY: days, WEEKLY: days // 7, MONTHLY: months}[self.repeat] // self.every
        of_each = len(self._days_of_week) if self.repeat == WEEKLY else 1
        return max(0, (passed - 1) * of_each)

    @property
    def _start(self) -> date:
        """The date from which occurrences are counted; for weeks, their Monday."""
        first = self._wall.date()
        return first - timedelta(days=first.weekday()) if self.repeat == WEEKLY else first

    @property
    def _days_of_week(self) -> tuple[int, ...]:
        return self.weekdays or (self._wall.weekday(),)

    def _instant(self, day: date) -> datetime:
        if day == self._wall.date():
            return self.first  # in an hour that comes twice it may be the second
        return first_showing(datetime.combine(day, self._wall.time()), self.zone)

    def _day(self, number: int) -> date:
        """Return the date of this occurrence. For the 31st, a shorter month has its last day."""
        start = self._start
        if self.repeat == DAILY:
            return start + timedelta(days=number * self.every)
        if self.repeat == WEEKLY:
            weeks, index = divmod(number, len(self._days_of_week))
            return start + timedelta(weeks=weeks * self.every, days=self._days_of_week[index])
        years, month = divmod(start.month - 1 + number * self.every, 12)
        year, month = start.year + years, month + 1
        last = monthrange(year, month)[1]
        return date(year, month, last if self.on_days == LAST_DAY else min(start.day, last))


def first_showing(wall: datetime, zone: str) -> datetime:
    """Return when clocks there first show `wall`; if they skip it, the moment they change."""
    place = ZoneInfo(zone)
    first, second = (wall.replace(tzinfo=place, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first <= second:
        return first

    # Skipped: with the old offset it is after the change, with the new one before it.
    def is_past(minute: int) -> bool:
        return (second + minute * MINUTE).astimezone(place).replace(tzinfo=None) > wall

    return second + MINUTE * bisect_left(range((first - second) // MINUTE), True, key=is_past)
