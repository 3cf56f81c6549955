"""Quiet hours end by the clock where the person is, whatever becomes of the clocks that night."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from notifications.people.consent.hours import QuietHours
from notifications.values.zones import selectable_zones

NIGHT = QuietHours(time(21), time(8), "Asia/Seoul")
MINUTE = timedelta(minutes=1)
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
moments = st.integers(0, 6 * 365 * 24 * 60).map(lambda minutes: FIRST + minutes * MINUTE)
clocks = st.times().map(lambda at: at.replace(second=0, microsecond=0))


@pytest.mark.parametrize(
    ("zone", "now", "until"),
    [
        ("Europe/Berlin", "2026-11-26T20:00", "2026-11-27T07:00"),  # 21:00 there
        ("Europe/Berlin", "2026-11-27T06:59", "2026-11-27T07:00"),
        ("Europe/Berlin", "2026-11-27T07:00", None),
        ("Europe/Berlin", "2026-11-26T19:59", None),
        ("Asia/Seoul", "2026-11-26T12:00", "2026-11-26T23:00"),
        ("", "2026-11-26T12:00", "2026-11-26T23:00"),  # by the project's
        ("Nowhere/Else", "2026-11-26T12:00", "2026-11-26T23:00"),
        ("Europe/Berlin", "2026-03-28T22:00", "2026-03-29T06:00"),  # an hour less that night
        ("Europe/Berlin", "2026-10-24T22:00", "2026-10-25T07:00"),  # an hour more
    ],
)
def test_quiet_hours_end_in_the_morning_of_the_person(
    zone: str, now: str, until: str | None
) -> None:
    ends = NIGHT.asleep_until(zone, datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert ends == (until and datetime.fromisoformat(until).replace(tzinfo=UTC))


@given(now=moments, zone=st.sampled_from(selectable_zones()), begin=clocks, end=clocks)
def test_whoever_sleeps_wakes_within_two_days_and_is_awake_then(
    now: datetime, zone: str, begin: time, end: time
) -> None:
    if begin == end:
        return
    quiet = QuietHours(begin, end, "UTC")

    def sleeps(at: datetime) -> bool:
        return quiet.covers(at.astimezone(ZoneInfo(zone)).time())

    until = quiet.asleep_until(zone, now)

    assert (until is not None) == sleeps(now)
    if until:
        assert now < until <= now + timedelta(hours=50)
        assert not sleeps(until) and quiet.asleep_until(zone, until) is None
        # Nobody is woken before: of a night whose clocks change, at most two hours too late.
        awake_before = sum(not sleeps(now + n * MINUTE) for n in range(int((until - now) / MINUTE)))
        assert awake_before <= 120


@pytest.mark.parametrize(
    ("zone", "now", "until"),
    [
        ("Europe/Berlin", "2026-11-26T07:00", "2026-11-26T20:00"),  # 21:00 there
        ("Asia/Seoul", "2026-11-25T23:00", "2026-11-26T00:00"),  # a day of UTC ends
        ("Asia/Seoul", "2026-11-26T00:00", "2026-11-26T12:00"),
        ("Europe/Berlin", "2026-03-29T09:50", "2026-03-29T10:00"),  # the clocks are changed
    ],
)
def test_who_is_awake_stays_so_until_the_evening(zone: str, now: str, until: str) -> None:
    lasts = NIGHT.awake_until(zone, datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert lasts == datetime.fromisoformat(until).replace(tzinfo=UTC)


@given(moments, st.sampled_from(selectable_zones()), clocks, clocks, st.floats(0, 1))
@example(datetime(2026, 4, 4, 14, tzinfo=UTC), "Australia/Lord_Howe", time(1, 45), time(2), 0.99)
@example(datetime(2026, 3, 29, 0, 59, tzinfo=UTC), "Europe/Berlin", time(2, 30), time(4), 0.99)
def test_nobody_falls_asleep_before_it_was_said(
    now: datetime, zone: str, begin: time, end: time, share: float
) -> None:
    quiet = QuietHours(begin, end, "UTC")
    if begin == end or quiet.asleep_until(zone, now):
        return
    until = quiet.awake_until(zone, now)
    assert until > now
    last = until - timedelta(microseconds=1)
    for at in (last, now + (last - now) * share):
        assert quiet.asleep_until(zone, at) is None
