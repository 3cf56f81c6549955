"""When a series is due: once each day, week or month, by the clocks of its zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from campaigns.planning.repeats.rhythm import Rhythm
from notifications.values.zones import known_zones

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days(first: str, repeat: str, zone: str, count: int, **more: Any) -> list[str]:
    """The local times of the first few."""
    place = ZoneInfo(zone)
    start = datetime.fromisoformat(first).replace(tzinfo=place)
    found = Rhythm(start.astimezone(UTC), repeat, zone, **more).after(start - DAY)
    return [f"{at.astimezone(place):%m-%d %H:%M}" for at in islice(found, count)]


def test_every_day_week_and_month_keep_the_clock_of_their_zone() -> None:
    seoul = "2027-01-30T09:00", "Asia/Seoul"
    assert days(seoul[0], "daily", seoul[1], 3) == ["01-30 09:00", "01-31 09:00", "02-01 09:00"]
    assert days(seoul[0], "weekly", seoul[1], 3) == ["01-30 09:00", "02-06 09:00", "02-13 09:00"]


def test_the_31st_is_the_last_day_of_a_shorter_month() -> None:
    zone = "Europe/Berlin"
    assert days("2027-01-31T10:00", "monthly", zone, 4) == [
        "01-31 10:00", "02-28 10:00", "03-31 10:00", "04-30 10:00",
    ]  # fmt: skip
    assert days("2027-01-29T10:00", "monthly", zone, 3) == [
        "01-29 10:00", "02-28 10:00", "03-29 10:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ({"repeat": "daily", "every": 365}, 74),
        ({"repeat": "weekly", "every": 365}, 11),
        ({"repeat": "monthly", "every": 60}, 15),
        ({"repeat": "monthly", "every": 365}, 3),
    ],
)
def test_nothing_is_due_after_the_year_2100(more: dict[str, Any], count: int) -> None:
    first = moment("2027-01-30T09:00")
    found = list(Rhythm(first, zone="Asia/Seoul", **more).after(first - DAY))
    assert len(found) == count and found[-1].year <= 2100
    ends = moment("9999-12-31T23:59")
    for after, begin in ((ends, first), (first, ends)):
        assert Rhythm(begin, zone="Asia/Seoul", **more).next_after(after) is None


def test_summer_time_moves_the_instant_and_not_the_clock() -> None:
    first = moment("2027-03-27T08:00")  # 09:00 in Berlin
    found = list(islice(Rhythm(first, "daily", "Europe/Berlin").after(first), 2))
    assert found == [moment("2027-03-28T07:00"), moment("2027-03-29T07:00")]


def test_an_hour_that_is_skipped_or_doubled_makes_one_occurrence() -> None:
    zone = "Europe/Berlin"
    assert days("2027-03-27T02:30", "daily", zone, 3) == [
        "03-27 02:30", "03-28 03:00", "03-29 02:30",
    ]  # fmt: skip
    assert days("2027-10-30T02:30", "daily", zone, 3) == [
        "10-30 02:30", "10-31 02:30", "11-01 02:30",
    ]  # fmt: skip


def test_an_hour_that_is_skipped_at_midnight_gives_the_next_midnight() -> None:
    """Nuuk's clocks go from 23:00 on a Saturday to midnight: 23:30 is not shown that day."""
    nuuk = "America/Nuuk"
    assert days("2026-01-28T23:30", "monthly", nuuk, 4) == [
        "01-28 23:30", "02-28 23:30", "03-29 00:00", "04-28 23:30",
    ]  # fmt: skip
    assert days("2026-03-21T23:30", "weekly", nuuk, 3) == [
        "03-21 23:30", "03-29 00:00", "04-04 23:30",
    ]  # fmt: skip
    assert days("2026-03-27T23:30", "daily", nuuk, 4) == [
        "03-27 23:30", "03-29 00:00", "03-29 23:30", "03-30 23:30",
    ]  # fmt: skip


def test_asked_in_the_second_of_two_equal_hours_the_answer_is_tomorrow() -> None:
    first = moment("2027-10-30T00:30")  # 02:30 in Berlin
    second_of_two = moment("2027-10-31T01:10")  # 02:10 again; 02:30 has been
    following = Rhythm(first, "daily", "Europe/Berlin").next_after(second_of_two)
    assert following == moment("2027-11-01T01:30")


def test_nothing_follows_the_end() -> None:
    first = moment("2027-01-01T09:00")
    rhythm = Rhythm(first, "daily", "UTC", until=first + 2 * DAY)
    assert len(list(rhythm.after(first - DAY))) == 3
    assert rhythm.next_after(first + 2 * DAY) is None


# --- All zones, against an oracle -----------------------------------------------------------------

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
