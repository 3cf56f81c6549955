"""When five fields are due: as crontab(5) says, by the clocks of a zone, an hour apart."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import crontab_parser
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campaigns.planning.repeats import cron
from campaigns.planning.repeats.cron import FIELDS, LONGEST, Cron

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
BERLIN, SEOUL = "Europe/Berlin", "Asia/Seoul"
ZONES = [BERLIN, SEOUL, "America/New_York", "America/Nuuk", "Australia/Lord_Howe", "Asia/Kathmandu",
         "Africa/Cairo", "America/Havana", "Antarctica/Troll"]  # fmt: skip
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def due(text: str, begin: str, count: int, zone: str = SEOUL, **more: str) -> list[str]:
    """The local times of the first few."""
    place = ZoneInfo(zone)
    start = datetime.fromisoformat(begin).replace(tzinfo=place)
    until = more.get("until")
    end = datetime.fromisoformat(until).replace(tzinfo=place) if until else None
    off = frozenset({date.fromisoformat(more["off"])}) if "off" in more else frozenset()
    found = cron.parse(text, start, zone, end, days_off=off).after(start - DAY)
    return [f"{at.astimezone(place):%Y-%m-%d %H:%M}" for at in islice(found, count)]


@pytest.mark.parametrize(
    ("text", "first_three"),
    [
        ("0 9 * * *", ["2027-01-01 09:00", "2027-01-02 09:00", "2027-01-03 09:00"]),
        ("30 8-20/6 * * *", ["2027-01-01 08:30", "2027-01-01 14:30", "2027-01-01 20:30"]),
        ("0 9 * * mon,THU", ["2027-01-04 09:00", "2027-01-07 09:00", "2027-01-11 09:00"]),
        ("0 9 * * 5-7", ["2027-01-01 09:00", "2027-01-02 09:00", "2027-01-03 09:00"]),
        ("0 9 * * 0", ["2027-01-03 09:00", "2027-01-10 09:00", "2027-01-17 09:00"]),
        ("0 9 15 jan,jul *", ["2027-01-15 09:00", "2027-07-15 09:00", "2028-01-15 09:00"]),
        ("0 9 31 * *", ["2027-01-31 09:00", "2027-03-31 09:00", "2027-05-31 09:00"]),
        ("0 9 29 2 *", ["2028-02-29 09:00", "2032-02-29 09:00", "2036-02-29 09:00"]),
        ("0 9 13 * fri", ["2027-01-01 09:00", "2027-01-08 09:00", "2027-01-13 09:00"]),
        ("0 9 */10 * fri", ["2027-01-01 09:00", "2027-05-21 09:00", "2027-06-11 09:00"]),
        ("0 9 29 2 */7", ["2032-02-29 09:00", "2060-02-29 09:00", "2088-02-29 09:00"]),
    ],
)
def test_it_is_due_when_crontab_says(text: str, first_three: list[str]) -> None:
    assert due(text, "2027-01-01T00:00", 3) == first_three


def test_days_off_and_the_end_hold_as_for_every_rhythm() -> None:
    found = due("0 9 * * *", "2027-01-01T09:00", 9, off="2027-01-02", until="2027-01-04T09:00")
    assert found == ["2027-01-01 09:00", "2027-01-03 09:00", "2027-01-04 09:00"]


def test_nothing_is_due_after_the_year_2100() -> None:
    assert due("0 9 29 2 *", "2090-01-01T09:00", 9) == ["2092-02-29 09:00", "2096-02-29 09:00"]
    assert due("0 9 * * *", "2100-12-31T00:00", 9) == ["2100-12-31 09:00"]
    first, ends = datetime(2027, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)
    for after, begin in ((ends, first), (first, ends)):
        assert cron.parse("0 9 * * *", begin, SEOUL).next_after(after) is None


def test_nothing_is_due_before_its_first_time() -> None:
    assert due("0 9 * * *", "2027-01-01T10:00", 1) == ["2027-01-02 09:00"]


def test_where_an_hour_is_skipped_it_is_due_when_the_clocks_are_set() -> None:
    assert due("30 2 * * *", "2027-03-27T00:00", 3, BERLIN) == [
        "2027-03-27 02:30", "2027-03-28 03:00", "2027-03-29 02:30",
    ]  # fmt: skip
    assert due("30 * * * *", "2027-03-28T01:00", 3, BERLIN) == [
        "2027-03-28 01:30", "2027-03-28 03:30", "2027-03-28 04:30",
    ], "half an hour after the one before it would be too soon"  # fmt: skip


def test_of_an_hour_that_comes_twice_it_is_due_in_the_first() -> None:
    start = datetime(2027, 10, 30, 23, tzinfo=UTC)
    found = list(islice(cron.parse("30 2,3 * * *", start, BERLIN).after(start), 2))
    assert found == [
        datetime(2027, 10, 31, 0, 30, tzinfo=UTC),
        datetime(2027, 10, 31, 2, 30, tzinfo=UTC),
    ]


def test_what_is_never_due_is_found_out_and_ends() -> None:
    with pytest.raises(ValueError, match="of the month: there is no such day in these months"):
        due("0 9 31 2,4,jun *", "2027-01-01T00:00", 1)
    start = datetime(2027, 1, 1, tzinfo=UTC)
    everything = frozenset(start.date() + n * DAY for n in range(20))
    short = cron.parse("0 9 * * *", start, "UTC", start + 20 * DAY, days_off=everything)
    assert list(short.after(start - DAY)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Write five fields"),
        ("0 9 * *", "Write five fields"),
        ("0 9 * * * *", "Write five fields"),
        ("@daily", "Write five fields"),
        ("0" * (LONGEST + 1), "Write five fields"),
        ("*/30 * * * *", "minute: one minute of the hour, such as 0"),
        ("0,30 9 * * *", "minute: one minute of the hour, such as 0"),
        ("* 9 * * *", "minute: one minute of the hour, such as 0"),
        ("60 9 * * *", "minute: “60” is none; write a number from 0 to 59."),
        ("mon 9 * * *", "minute: “mon” is none"),
        ("0 24 * * *", "hour: “24” is none; write a number from 0 to 23."),
        ("0 22-2 * * *", "hour: “22-2” ends before it begins."),
        ("0 9 0 * *", "day of the month: “0” is none"),
        ("0 9 L * *", "day of the month: “l” is none"),
        ("0 9 ? * *", "day of the month: “?” is none"),
        ("0 9 * 13 *", "month: “13” is none; write a number from 1 to 12."),
        ("0 9 * mon *", "month: “mon” is none"),
        ("0 9 * * 8", "day of the week: “8” is none; write a number from 0 to 7."),
        ("0 9 * * mon#1", "day of the week: “mon#1” is none"),
        ("0 */0 * * *", "hour: “*/0”: a step is a number from 1 to 99."),
        ("0 9/2 * * *", "hour: “9/2”: a step goes with * or a range."),
        ("0 8-08/2 * * *", "hour: “8-08/2”: a step goes with * or a range."),
        ("0 8-20/ * * *", "hour: “8-20/”: a step is a number from 1 to 99."),
        ("0 */100 * * *", "hour: “*/100”: a step is a number from 1 to 99."),
        ("0 008 * * *", "hour: “008” is none"),
        ("0 9 LW * *", "day of the month: “lw” is none"),
        ("0 9 * * 5L", "day of the week: “5l” is none"),
        ("0 9 * * ſun", "day of the week: “ſun” is none"),
        ("99 99 * * *", "minute: “99” is none"),
        ("0 9, * * *", "hour: “” is none"),
        ("0 -9 * * *", "hour: “-9” is none"),
        ("0 ٩ * * *", "hour: “٩” is none"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_field(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="^" + said.replace("*", r"\*").replace("?", r"\?")):
        cron.parse(text, datetime(2027, 1, 1, tzinfo=UTC), "UTC")


# --- Against minutes that are looked at one by one ------------------------------------------------


def parts(first: int, last: int, names: list[str] | None = None) -> st.SearchStrategy[str]:
    numbers = st.integers(first, last)
    spans = st.tuples(numbers, numbers).map(sorted).filter(lambda two: two[0] < two[1])
    one = st.one_of(
        st.just("*"),
        numbers.map(str),
        st.sampled_from(names or ["*"]),
        spans.map(lambda two: f"{two[0]}-{two[1]}"),
        st.tuples(spans, st.integers(1, 9)).map(lambda of: f"{of[0][0]}-{of[0][1]}/{of[1]}"),
        st.integers(1, 12).map(lambda step: f"*/{step}"),
    )
    return st.lists(one, min_size=1, max_size=2).map(",".join)


TEXTS = st.tuples(
    st.integers(0, 59).map(str), parts(0, 23), parts(1, 28), parts(1, 12, MONTHS),
    parts(0, 6, WEEKDAYS),
).map(" ".join)  # fmt: skip


def naive(text: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Minute by minute, each field read by Celery."""
    minute, hour, day, month, weekday = text.split()
    minutes, hours = crontab_parser(60).parse(minute), crontab_parser(24).parse(hour)
    days, months = crontab_parser(31, 1).parse(day), crontab_parser(12, 1).parse(month)
    weekdays, both = crontab_parser(7).parse(weekday), day[0] == "*" or weekday[0] == "*"

    def fits(wall: datetime) -> bool:
        of_month, of_week = wall.day in days, wall.isoweekday() % 7 in weekdays
        is_one = (of_month and of_week) if both else (of_month or of_week)
        at = wall.minute in minutes and wall.hour in hours
        return at and wall.month in months and is_one

    found: list[datetime] = []
    place, at = ZoneInfo(zone), start - 2 * DAY
    shown = (at - MINUTE).astimezone(place).replace(tzinfo=None)  # the latest wall time so far
    while at < end:
        wall = at.astimezone(place).replace(tzinfo=None)
        new = [shown + n * MINUTE for n in range(1, int((wall - shown) / MINUTE) + 1)]
        shown = max(shown, wall)
        if any(map(fits, new)) and (not found or at >= found[-1] + HOUR):
            found.append(at)
        at += MINUTE
    return [one for one in found if one >= start]


@settings(deadline=None, max_examples=60)
@given(TEXTS, st.sampled_from(ZONES), st.sampled_from([1, 3, 4, 9, 10, 11]), st.integers(0, 24))
@example("30 * * * *", BERLIN, 3, 26)
@example("30 2 * * *", BERLIN, 10, 29)
@example("45 23 * * *", "America/Nuuk", 3, 26)
def test_it_is_due_when_somebody_who_looks_each_minute_says(
    text: str, zone: str, month: int, day: int
) -> None:
    start = datetime(2026, month, 1, tzinfo=UTC) + day * DAY
    end = start + 6 * DAY
    read = cron.parse(text, start - 9 * DAY, zone, end - MINUTE)
    found = list(read.after(start - MINUTE))
    assert found == naive(text, zone, start, end)
    assert all(later - earlier >= HOUR for earlier, later in pairwise(found))
    if found:  # asked from any of them on, the rest is the same
        assert list(read.after(found[0])) == found[1:]


@given(st.text(alphabet="0123456789*/-, abcmonjsu٣", max_size=30))
def test_whatever_is_typed_is_read_or_refused(text: str) -> None:
    try:
        found = cron.parse(text, datetime(2027, 1, 1, tzinfo=UTC), "UTC")
    except ValueError as error:
        assert str(error)
        return
    assert isinstance(found, Cron)
    assert len(text.split()) == len(FIELDS)
