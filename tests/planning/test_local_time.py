"""Nine o'clock where the reader is: in every zone, on every day, for whoever launches when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.runs import local_time
from campaigns.runs.local_time import AT_ONCE, NEVER, NEXT_DAY, LocalTime
from notifications.values.zones import known_zones

ZONES = sorted(known_zones())
BEGIN, END = datetime.fromisoformat("2000-01-02"), datetime.fromisoformat("2099-12-30")
WALLS = st.datetimes(BEGIN, END)
NINE = datetime.fromisoformat("2026-12-01T09:00")
QUARTER = timedelta(minutes=15)


def clock(moment: datetime, zone: str) -> datetime:
    return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


HOURS = st.none() | st.integers(0, 23)


def by_best_hours(wall: datetime, begins: datetime, passed: str = NEXT_DAY) -> LocalTime:
    return LocalTime(wall, begins, "UTC", passed, QUARTER, best_hour=True)


def at_nine(wall: datetime, begins: datetime | None = None, passed: str = NEXT_DAY) -> LocalTime:
    return LocalTime(wall, begins or local_time.first(wall), "UTC", passed, QUARTER)


@given(WALLS, st.sampled_from(ZONES))
def test_every_clock_shows_that_time_or_the_end_of_a_gap(wall: datetime, zone: str) -> None:
    at = at_nine(wall).due_for(zone)
    assert at is not None
    late = clock(at, zone) - wall
    assert timedelta() <= late <= timedelta(days=1), "a gap; Samoa left out a whole day"
    if late:
        before = clock(at - timedelta(microseconds=1) - late, zone)
        assert before < wall, "no clock there shows it"


@given(WALLS, st.sampled_from(ZONES))
def test_no_zone_is_before_the_first_or_after_the_last(wall: datetime, zone: str) -> None:
    at = at_nine(wall).due_for(zone)
    assert at is not None
    assert local_time.first(wall) <= at <= local_time.last(wall) + timedelta(days=1)
    if clock(at, zone) == wall:
        assert at <= at_nine(wall).last


@given(
    st.datetimes(BEGIN.replace(year=2020), END.replace(year=2039)),
    st.sampled_from(ZONES),
    st.integers(0, 26 * 60 - 1),
    st.sampled_from([NEXT_DAY, AT_ONCE, NEVER]),
)
def test_a_launch_after_some_zones_have_passed_is_early_for_nobody(
    wall: datetime, zone: str, minutes: int, passed: str
) -> None:
    begins = local_time.first(wall) + timedelta(minutes=minutes)
    by = at_nine(wall, begins, passed)
    at = by.due_for(zone)
    due = local_time.instant(wall, zone)
    if due + QUARTER >= begins:
        assert at == due, "it has not passed there"
    elif passed == NEVER:
        assert at is None
    elif passed == AT_ONCE:
        assert at == begins
    else:
        assert at is not None
        assert begins - QUARTER <= at <= begins + timedelta(hours=27)
        assert at - due >= timedelta(hours=22)
    assert at is None or at <= by.last + timedelta(hours=2)


@given(WALLS, st.sampled_from(ZONES), HOURS)
def test_by_best_hours_it_is_that_hour_of_the_day_or_without_one_the_time_of_the_schedule(
    wall: datetime, zone: str, hour: int | None
) -> None:
    earliest, latest = local_time.span(wall, best_hour=True)
    by = by_best_hours(wall, local_time.first(earliest))
    at = by.due_for(zone, hour)
    assert at is not None and local_time.first(earliest) <= at
    meant = wall if hour is None else datetime(wall.year, wall.month, wall.day, hour)  # noqa: DTZ001
    assert earliest <= meant <= latest and meant.date() == wall.date()
    late = clock(at, zone) - meant
    assert timedelta() <= late <= timedelta(days=1), "a gap; Samoa left out a whole day"
    assert at <= by.last + late


@given(
    st.datetimes(BEGIN.replace(year=2020), END.replace(year=2039)),
    st.sampled_from(ZONES),
    HOURS,
    st.integers(0, 50 * 60 - 1),
    st.sampled_from([NEXT_DAY, AT_ONCE, NEVER]),
)
def test_a_launch_after_some_hours_have_passed_is_early_for_nobody(
    wall: datetime, zone: str, hour: int | None, minutes: int, passed: str
) -> None:
    earliest, _latest = local_time.span(wall, best_hour=True)
    begins = local_time.first(earliest) + timedelta(minutes=minutes)
    by = by_best_hours(wall, begins, passed)
    at, due = by.due_for(zone, hour), local_time.instant(by.time_of(hour), zone)
    assert by.has_passed(zone, hour) == (due + QUARTER < begins)
    if not by.has_passed(zone, hour):
        assert at == due
    elif passed == NEXT_DAY:
        assert at is not None and at >= begins - QUARTER, "the same hour, not one that is over"
        assert at <= begins + timedelta(hours=27), "and not a day later than need be"
    else:
        assert at == (begins if passed == AT_ONCE else None)
    assert at is None or at <= by.last + timedelta(hours=2)


@given(WALLS, HOURS)
def test_who_has_no_clock_of_their_own_has_no_hour_by_it(wall: datetime, hour: int | None) -> None:
    by = by_best_hours(wall, local_time.first(wall))
    assert by.due_for("Mars/Base", hour) == by.due_for("", hour) == by.due_for("UTC")


@pytest.mark.parametrize(
    ("zone", "wall", "utc"),
    [
        ("Asia/Seoul", "2026-12-01T09:00", "2026-12-01T00:00"),
        ("Pacific/Kiritimati", "2026-12-01T09:00", "2026-11-30T19:00"),
        ("Etc/GMT+12", "2026-12-01T09:00", "2026-12-01T21:00"),
        ("Asia/Kathmandu", "2026-12-01T09:00", "2026-12-01T03:15"),
        ("Europe/Berlin", "2027-03-28T02:30", "2027-03-28T01:30"),  # there is no such time: 03:30
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30"),  # it comes twice: the first
    ],
)
def test_a_time_is_told_by_the_calendar_of_each_place(zone: str, wall: str, utc: str) -> None:
    by = at_nine(datetime.fromisoformat(wall))
    assert by.due_for(zone) == datetime.fromisoformat(utc).replace(tzinfo=UTC)


def test_a_reader_whose_zone_nobody_knows_goes_by_the_one_that_stands_in() -> None:
    by = at_nine(NINE)
    assert by.knows("") and by.due_for("") == by.due_for("Mars/Base") == datetime(
        2026, 12, 1, 9, tzinfo=UTC
    )
    nobody = LocalTime(NINE, by.begins, "", NEXT_DAY, QUARTER)
    assert not nobody.knows("") and nobody.due_for("") is None
    assert nobody.due_for("Asia/Seoul") is not None


def test_east_of_the_date_line_the_next_day_may_be_over_too() -> None:
    """Launched when only the last zones are left: in the first ones it is past nine again."""
    begins = datetime(2026, 12, 1, 20, 59, tzinfo=UTC)
    at = at_nine(NINE, begins).due_for("Pacific/Kiritimati")
    assert at == datetime(2026, 12, 2, 19, tzinfo=UTC)


@given(
    st.datetimes(BEGIN.replace(year=2009), END.replace(year=2039)),
    st.sampled_from(ZONES),
    HOURS,
    st.integers(0, 40 * 24 * 60),
)
def test_the_next_day_is_the_first_on_which_it_is_not_over_yet(
    wall: datetime, zone: str, hour: int | None, minutes: int
) -> None:
    earliest, _latest = local_time.span(wall, best_hour=True)
    by = by_best_hours(wall, local_time.first(earliest) + timedelta(minutes=minutes))
    each = (by.time_of(hour) + timedelta(days=day) for day in count(1))
    instants = (local_time.instant(one, zone) for one in each)
    assert by.on_the_next_day(zone, hour) == next(
        at for at in instants if at + QUARTER >= by.begins
    )


def test_the_next_day_of_a_time_long_ago_is_found_in_a_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[datetime] = []
    instant = local_time.instant

    def counted(wall: datetime, zone: str) -> datetime:
        asked.append(wall)
        return instant(wall, zone)

    monkeypatch.setattr(local_time, "instant", counted)
    by = at_nine(datetime.fromisoformat("2000-01-01T09:00"), begins=NINE.replace(tzinfo=UTC))
    assert by.on_the_next_day("Asia/Seoul") == datetime.fromisoformat("2026-12-02T00:00Z")
    assert len(asked) <= 5
