"""Local time: when is it nine o'clock where this person is?

One run goes around the earth, zone by zone, for up to 26 hours. Each person's message expires so
long after their own instant. Whoever moves to another zone meanwhile goes by their new clock; they
still get it once, because they have one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from notifications.values.zones import known_zones

A_DAY = timedelta(days=1)
# No clock on earth is further from UTC. A run begins with the first, whoever is in its audience.
AHEAD, BEHIND = timedelta(hours=14), timedelta(hours=12)
LONGEST_DAY = timedelta(hours=25)  # where summer time ends
NEXT_DAY, AT_ONCE, NEVER = "next_day", "now", "skip"


@dataclass(frozen=True)
class LocalTime:
    """What every reader's clock shows when it is sent to them."""

    wall: datetime  # without a zone: it is meant in all of them
    begins: datetime  # before this, nothing leaves
    otherwise: str  # the zone of people whose own nobody knows; empty: they get nothing
    passed: str  # what becomes of people where it was later already when it began
    lateness: timedelta  # by so much it is not yet too late for anybody

    @property
    def last(self) -> datetime:
        """Nobody's instant is later."""
        everywhere = last(self.wall)
        passed_first = first(self.wall) + self.lateness < self.begins
        if passed_first and self.passed == NEXT_DAY:
            return max(everywhere, self.begins + LONGEST_DAY)
        return max(everywhere, self.begins)

    def knows(self, zone: str | None) -> bool:
        return zone in known_zones() or bool(self.otherwise)

    def of(self, zone: str | None) -> datetime | None:
        """When for somebody in this zone; None: never."""
        its_own = zone if zone in known_zones() else self.otherwise
        return _of(self, its_own) if its_own else None

    def has_passed(self, zone: str) -> bool:
        """Whether it was too late there when it began."""
        return self._is_too_early(instant(self.wall, zone))

    def on_the_next_day(self, zone: str) -> datetime:
        """When it is that time there again. East of the date line a day later may be over, too."""
        tomorrow = instant(self.wall + A_DAY, zone)
        return instant(self.wall + 2 * A_DAY, zone) if self._is_too_early(tomorrow) else tomorrow

    def _is_too_early(self, at: datetime) -> bool:
        return at + self.lateness < self.begins


def first(wall: datetime) -> datetime:
    """When it is that time in the first zone of all."""
    return (wall - AHEAD).replace(tzinfo=UTC)


def last(wall: datetime) -> datetime:
    """When it is that time in the last zone of all."""
    return (wall + BEHIND).replace(tzinfo=UTC)


# A window's people share the run, and a few zones.
@lru_cache(maxsize=5_000)
def _of(local: LocalTime, zone: str) -> datetime | None:
    if not local.has_passed(zone):
        return instant(local.wall, zone)
    if local.passed == NEXT_DAY:
        return local.on_the_next_day(zone)
    return local.begins if local.passed == AT_ONCE else None


def instant(wall: datetime, zone: str) -> datetime:
    """When a clock there shows it. Of an hour that comes twice, the first; for one that is left
    out, up to an hour later."""
    return wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)


def written(wall: datetime, *, otherwise: str, passed: str) -> dict[str, Any]:
    """As a run keeps it."""
    return {"at": wall.isoformat(), "zone": otherwise, "passed": passed}


def read(kept: dict[str, Any], *, begins: datetime, lateness: timedelta) -> LocalTime:
    wall = datetime.fromisoformat(kept["at"])
    return LocalTime(wall, begins, kept["zone"], kept["passed"], lateness)
