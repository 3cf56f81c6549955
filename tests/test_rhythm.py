"""A rhythm against an oracle that watches each zone's clock: one occurrence a period, never two."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from hypothesis import assume, example, given
from hypothesis import strategies as st

from campaigns.rhythm import Rhythm
from notifications.zones import known_zones

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
COUNTS = {"daily": 400, "weekly": 60, "monthly": 40}  # more than a year of each
# Clocks set at midnight, by half an hour, by two, in winter, and around Ramadan.
ODD_ZONES = [
    "America/Nuuk", "America/Santiago", "Africa/Cairo", "Asia/Beirut", "America/Havana",
    "Australia/Lord_Howe", "Antarctica/Troll", "Europe/Dublin", "Africa/Casablanca", "Asia/Gaza",
]  # fmt: skip


def clock(zone: str, instant: datetime) -> datetime:
    return instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def first_showing(zone: str, wall: datetime) -> datetime:
    """Minute by minute: when the clock shows that time for the first time, or is past it."""
    as_utc = wall.replace(tzinfo=UTC)
    instant = min(as_utc - (clock(zone, near) - near.replace(tzinfo=None))
                  for near in (as_utc - 2 * DAY, as_utc + 2 * DAY))  # fmt: skip
    while clock(zone, instant) < wall:
        instant += MINUTE
    return instant


def second_showing(zone: str, wall: datetime) -> datetime | None:
    """In the hour that comes twice."""
    first = first_showing(zone, wall)
    later = (first + minutes * MINUTE for minutes in range(1, 181))
    return next((instant for instant in later if clock(zone, instant) == wall), None)


def due_days(first: date, repeat: str) -> Iterator[date]:
    """Day by day: is it one of them?"""
    day = first
    while True:
        tomorrow_is_the_first = (day + DAY).day == 1
        if {
            "daily": True,
            "weekly": day.weekday() == first.weekday(),
            "monthly": day.day == first.day or (tomorrow_is_the_first and day.day < first.day),
        }[repeat]:
            yield day
        day += DAY


@given(
    zone=st.one_of(st.sampled_from(ODD_ZONES), st.sampled_from(sorted(known_zones()))),
    day=st.dates(date(2026, 1, 1), date(2036, 1, 1)),
    at=st.times().map(lambda at: at.replace(second=0, microsecond=0, fold=0)),
    repeat=st.sampled_from(list(COUNTS)),
    second=st.booleans(),
)
@example("America/Nuuk", date(2026, 1, 28), time(23, 30), "monthly", False)
@example("Europe/Berlin", date(2027, 10, 31), time(2, 30), "daily", True)
@example("Europe/Berlin", date(2027, 3, 21), time(2, 30), "weekly", False)
@example("Asia/Seoul", date(2027, 12, 31), time(0, 0), "monthly", False)
def test_every_period_has_one_occurrence_at_the_time_its_clock_first_shows(
    zone: str, day: date, at: time, repeat: str, second: bool
) -> None:
    wall = datetime.combine(day, at)
    first = (second_showing(zone, wall) if second else None) or first_showing(zone, wall)
    assume(clock(zone, first) == wall)  # nobody can ask for a time that no clock shows
    later = islice(due_days(day, repeat), 1, COUNTS[repeat])
    expected = [first, *(first_showing(zone, datetime.combine(each, at)) for each in later)]

    rhythm = Rhythm(first, repeat, zone)

    assert list(islice(rhythm.after(first - DAY), COUNTS[repeat])) == expected
    for before, after in pairwise(expected):
        assert rhythm.next_after(before) == rhythm.next_after(after - MINUTE) == after
