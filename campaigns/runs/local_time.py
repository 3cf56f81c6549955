"""Local time: when a person gets a run by their own clock. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from notifications.values.moments import DAY_AND_CLOCK, local
from notifications.values.zones import clock_of, known_zones

A_DAY = timedelta(days=1)
# No clock on earth is further from UTC. A run begins with the first zone, whatever its audience.
AHEAD, BEHIND = timedelta(hours=14), timedelta(hours=12)
AROUND_THE_EARTH = AHEAD + BEHIND + timedelta(hours=23)  # from the first hour of a day to its last
LONGEST_DAY = timedelta(hours=25)  # where summer time ends
# Days: so much before the first possible date it was surely too early. The largest gap in any
# clock is one day.
SURELY = 2
NEXT_DAY, AT_ONCE, NEVER = "next_day", "now", "skip"


@dataclass(frozen=True)
class LocalTime:
    """The local time at which a run is due for each of its people, and the rules around it."""

    wall: datetime  # without a zone: it is meant in all of them
    begins: datetime  # before this, nothing leaves
    otherwise: str  # the zone of people without a known one; empty: they get nothing
    passed: str  # what happens where this time had already passed when the run began
    lateness: timedelta  # up to this much later, it is not too late
    best_hour: bool = False  # each person gets it at their own hour of that day

    @property
    def last(self) -> datetime:
        """The latest instant at which it can be due for a person."""
        earliest, latest = span(self.wall, best_hour=self.best_hour)
        everywhere = last(latest)
        passed_first = first(earliest) + self.lateness < self.begins
        if passed_first and self.passed == NEXT_DAY:
            return max(everywhere, self.begins + LONGEST_DAY)
        return max(everywhere, self.begins)

    def knows(self, zone: str | None) -> bool:
        return zone in known_zones() or bool(self.otherwise)

    def due_for(self, zone: str | None, hour: int | None = None) -> datetime | None:
        """When it is due for a person in this zone, with this best hour; None: never."""
        if zone in known_zones():
            return _due_at(self, zone, hour)
        return _due_at(self, self.otherwise, None) if self.otherwise else None

    def has_passed(self, zone: str | None, hour: int | None = None) -> bool:
        """Whether it was too late for a person in this zone when the run began."""
        if zone in known_zones():
            return self._is_too_early(instant(self.time_of(hour), zone))
        return bool(self.otherwise) and self._is_too_early(instant(self.wall, self.otherwise))

    def on_the_next_day(self, zone: str, hour: int | None = None) -> datetime:
        """When it is that time in this zone on a later day.

        East of the date line, the time one day later may have passed, too. So may a morning hour,
        if the run begins as late as the evening of the last zone.
        """
        wall = self.time_of(hour) + max(1, self._days_over(zone) - SURELY) * A_DAY
        while self._is_too_early(again := instant(wall, zone)):
            wall += A_DAY
        return again

    def _days_over(self, zone: str) -> int:
        """The days from the run's own date to the first date that is not too early in this zone."""
        earliest = (self.begins - self.lateness).astimezone(clock_of(zone))
        return (earliest.date() - self.wall.date()).days

    def time_of(self, hour: int | None) -> datetime:
        """The local time for a person with this best hour, without a zone."""
        return self.wall if hour is None else _at_hour(self.wall, hour)

    def _is_too_early(self, at: datetime) -> bool:
        return at + self.lateness < self.begins


def _at_hour(wall: datetime, hour: int) -> datetime:
    return wall.replace(hour=hour, minute=0, second=0, microsecond=0)


def span(wall: datetime, *, best_hour: bool) -> tuple[datetime, datetime]:
    """The earliest and the latest local time at which a person can get it."""
    return (_at_hour(wall, 0), max(wall, _at_hour(wall, 23))) if best_hour else (wall, wall)


def first(wall: datetime) -> datetime:
    """When it is that time in the first zone of all."""
    return (wall - AHEAD).replace(tzinfo=UTC)


def last(wall: datetime) -> datetime:
    """When it is that time in the last zone of all."""
    return (wall + BEHIND).replace(tzinfo=UTC)


# Cached: the people of a window share the run, a few zones and the hours of a day.
@lru_cache(maxsize=10_000)
def _due_at(local: LocalTime, zone: str, hour: int | None) -> datetime | None:
    if not local.has_passed(zone, hour):
        return instant(local.time_of(hour), zone)
    if local.passed == NEXT_DAY:
        return local.on_the_next_day(zone, hour)
    return local.begins if local.passed == AT_ONCE else None


def instant(wall: datetime, zone: str) -> datetime:
    """The instant at which a clock in this zone shows this time.

    When summer time ends, an hour comes twice: the first one counts. When it begins, an hour is
    left out: then the instant is up to an hour later.
    """
    return wall.replace(tzinfo=clock_of(zone), fold=0).astimezone(UTC)


def written(wall: datetime, *, otherwise: str, passed: str, best_hour: bool) -> dict[str, Any]:
    """The JSON that a run keeps of its local time; `from_settings` reads it."""
    values = {"at": wall.isoformat(), "zone": otherwise, "passed": passed}
    return {**values, "best": True} if best_hour else values


def from_settings(kept: dict[str, Any], *, begins: datetime, lateness: timedelta) -> LocalTime:
    wall = datetime.fromisoformat(kept["at"])
    best = kept.get("best", False)
    return LocalTime(wall, begins, kept["zone"], kept["passed"], lateness, best)


# --- In words -------------------------------------------------------------------------------------


def on_every_clock(wall: datetime) -> str:
    """The local time in a sentence: “30 Nov 2026, 09:00, by each reader's clock”."""
    return _("%(when)s, by each reader's clock") % {"when": date_and_time(wall)}


def date_and_time(wall: datetime) -> str:
    """The local time as a date and time: “30 Nov 2026, 09:00”."""
    return local(wall.replace(tzinfo=UTC), "UTC", DAY_AND_CLOCK)
