"""Quiet hours end by the clock where the person is, whatever becomes of the clocks that night."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.people.consent.hours import QuietHours
from notifications.values.zones import places

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


@given(now=moments, zone=st.sampled_from(places()), begin=clocks, end=clocks)
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
