"""Arithmetic of quiet hours: when they begin and end by the clock of a person's time zone.

It needs no database: a plan for a million people uses it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from notifications.values.zones import clock_of, known_zones

A_DAY = timedelta(days=1)
AN_HOUR = timedelta(hours=1)
A_QUARTER = timedelta(minutes=15)
MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class QuietHours:
    """Quiet hours from one time of the day until another, which may be the next morning."""

    begin: time
    end: time
    otherwise: str  # the zone of people whose own is unknown

    def zone_of(self, zone: str) -> str:
        return zone if zone in known_zones() else self.otherwise

    def asleep_until(self, zone: str, now: datetime) -> datetime | None:
        """When the current quiet hours end in this zone; None: it has none now."""
        return _state(self, self.zone_of(zone), now)[1]

    def awake_until(self, zone: str, now: datetime) -> datetime:
        """For a zone without quiet hours now: until when it surely has none."""
        return _state(self, self.zone_of(zone), now)[0]

    def covers(self, clock: time) -> bool:
        if self.begin < self.end:
            return self.begin <= clock < self.end
        return clock >= self.begin or clock < self.end


State = tuple[datetime, datetime | None]  # how long it lasts, and when quiet hours end, if in them


def _state(quiet: QuietHours, zone: str, now: datetime) -> State:
    day = MIDNIGHT + (now - MIDNIGHT) // A_DAY * A_DAY
    return next(state for state in _states(quiet, zone, day) if now < state[0])


# Cached by zone, for any moment of this UTC day. If the zone's clocks change on this day, each
# state covers a quarter of an hour at most: clocks change on a quarter of an hour.
@lru_cache(maxsize=10_000)
def _states(quiet: QuietHours, zone: str, day: datetime) -> list[State]:
    step = A_QUARTER if _is_changed(zone, day) else A_DAY
    starts = [day + n * step for n in range(A_DAY // step)]
    return [state for at in starts for state in _states_within(quiet, zone, at, at + step)]


def _states_within(
    quiet: QuietHours, zone: str, since: datetime, until: datetime
) -> Iterator[State]:
    at, begins = since, _beginnings(quiet, zone, since, until)
    while at < until:
        wakes = _asleep_until(quiet, zone, at)
        at = min([until, *([wakes] if wakes else (one for one in begins if one > at))])
        yield at, wakes


def _asleep_until(quiet: QuietHours, zone: str, now: datetime) -> datetime | None:
    local = now.astimezone(clock_of(zone))
    if not quiet.covers(local.time()):
        return None
    day = local.date() + (A_DAY if local.time() >= quiet.end else timedelta())
    until = _next_instant(now, day, quiet.end, local.tzinfo)
    # When summer time begins or ends, the clock may show a quiet hour once more.
    return _asleep_until(quiet, zone, until) or until


def _is_changed(zone: str, day: datetime) -> bool:
    """Whether the clocks of this zone change on this UTC day."""
    hours = (day + hour * AN_HOUR for hour in range(25))
    return len({at.astimezone(clock_of(zone)).utcoffset() for at in hours}) > 1


def _beginnings(quiet: QuietHours, zone: str, since: datetime, until: datetime) -> list[datetime]:
    """When quiet hours begin on the local dates of both moments. An hour that occurs twice counts
    twice."""
    tzinfo = clock_of(zone)
    dates = {at.astimezone(tzinfo).date() for at in (since, until)}
    begins = [quiet.begin.replace(fold=fold) for fold in (0, 1)]
    return [datetime.combine(day, at, tzinfo).astimezone(UTC) for day in dates for at in begins]


def _next_instant(now: datetime, day: date, clock: time, zone: object) -> datetime:
    """When the zone's clock shows this time on this day.

    If the hour occurs twice, the one that is still to come. If it is skipped, up to an hour later.
    """
    both = (datetime.combine(day, clock.replace(fold=fold), zone) for fold in (0, 1))  # type: ignore[arg-type]
    instants = [at.astimezone(UTC) for at in both]
    return next((at for at in instants if at > now), now + A_DAY)
