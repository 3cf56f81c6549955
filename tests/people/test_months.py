"""The arithmetic of months and of days to keep, whatever the moment and the zone."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from notifications.people.events.months import Month, from_text, of_all, through, wholly_before
from notifications.people.retention import MAX_DAYS, before

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1), timezones=ZONES)  # noqa: DTZ001
DAYS = st.integers(1, MAX_DAYS)
A_DAY = timedelta(days=1)


@given(MOMENTS)
def test_each_moment_lies_in_one_month_and_in_none_beside_it(moment: datetime) -> None:
    month = Month.of_moment(moment)
    assert month.begins <= moment < month.ends
    assert month.ends == month.following.begins
    assert Month.of_moment(month.begins - timedelta(microseconds=1)).following == month
    assert from_text(str(month)) == month


@given(st.lists(MOMENTS, max_size=20))
def test_the_months_of_many_moments_hold_each_of_them_once(moments: list[datetime]) -> None:
    months = of_all(moments)
    assert months == sorted(set(months))
    assert all(sum(m.begins <= moment < m.ends for m in months) == 1 for moment in moments)


@given(MOMENTS, DAYS)
def test_the_months_from_one_to_another_follow_each_other_without_a_gap(
    moment: datetime, days: int
) -> None:
    first, last = Month.of_moment(moment), Month.of_moment(moment + timedelta(days=days))
    months = list(through(first, last))
    assert (months[0], months[-1]) == (first, last)
    assert all(a.ends == b.begins for a, b in itertools.pairwise(months))


@given(MOMENTS, MOMENTS, DAYS)
def test_a_month_is_dropped_only_when_each_of_its_moments_has_had_its_days(
    now: datetime, moment: datetime, days: int
) -> None:
    end = before(days, now=now)
    assert end is not None
    if wholly_before([Month.of_moment(moment)], end):
        assert now - moment > timedelta(days=days)


@given(MOMENTS, DAYS)
def test_an_event_kept_n_days_is_removed_after_n_and_before_n_plus_one(
    now: datetime, days: int
) -> None:
    end = before(days, now=now)
    assert end is not None
    assert timedelta(days=days) <= now - end < timedelta(days=days + 1)
    assert (end.astimezone(UTC) - datetime(2000, 1, 1, tzinfo=UTC)) % A_DAY == timedelta(0)
    assert before(None, now=now) is None
