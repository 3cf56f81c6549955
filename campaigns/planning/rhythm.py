"""Rhythm: at which instants is a day, week or month's time on the clocks of a zone?"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Rhythm:
    """From `first` on, at the same time on the wall clock of `zone`, to `until`."""

    first: datetime
    repeat: str
    zone: str
    until: datetime | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        return next(self.after(moment), None)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Every occurrence later than `moment`: one for each day, week or month of the calendar."""
        for number in count(self._just_before(moment)):
            instant = self._occurrence(number)
            if self.until is not None and instant > self.until:
                return
            if instant > moment:
                yield instant

    @property
    def _wall(self) -> datetime:
        return self.first.astimezone(ZoneInfo(self.zone))

    def _just_before(self, moment: datetime) -> int:
        """The number of one that is surely not later."""
        today, start = moment.astimezone(ZoneInfo(self.zone)).date(), self._wall.date()
        months = 12 * (today.year - start.year) + today.month - start.month
        days = (today - start).days
        return max(0, {DAILY: days, WEEKLY: days // 7, MONTHLY: months}[self.repeat] - 1)

    def _occurrence(self, number: int) -> datetime:
        if number == 0:
            return self.first  # in an hour that comes twice it may be the second
        return first_showing(datetime.combine(self._day(number), self._wall.time()), self.zone)

    def _day(self, number: int) -> date:
        """Of the 31st: the last day of a shorter month."""
        start = self._wall.date()
        if self.repeat != MONTHLY:
            return start + number * timedelta(days=7 if self.repeat == WEEKLY else 1)
        years, month = divmod(start.month - 1 + number, 12)
        year, month = start.year + years, month + 1
        return date(year, month, min(start.day, monthrange(year, month)[1]))


def first_showing(wall: datetime, zone: str) -> datetime:
    """When clocks there show it for the first time; if they skip it, the moment they are set."""
    place = ZoneInfo(zone)
    first, second = (wall.replace(tzinfo=place, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first <= second:
        return first

    # Skipped: by the old offset it lies behind the change, by the new one before it.
    def is_past(minute: int) -> bool:
        return (second + minute * MINUTE).astimezone(place).replace(tzinfo=None) > wall

    return second + MINUTE * bisect_left(range((first - second) // MINUTE), True, key=is_past)
