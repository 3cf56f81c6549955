"""How a run would go: its numbers add up, whoever stands for whom."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns.forecast import course
from campaigns.forecast.course import foresee
from campaigns.forecast.solver.capacity import Capacity
from campaigns.forecast.solver.rules import PersonKind, Rules
from notifications.people.consent.hours import QuietHours

START = datetime(2026, 12, 1, 12, tzinfo=UTC)  # 21:00 in Seoul
DAY = timedelta(days=1)
NIGHT = QuietHours(time(21), time(8), "UTC")


@given(
    st.dictionaries(st.sampled_from(["", "UTC", "Asia/Seoul", "Europe/Berlin"]),
                    st.integers(1, 500), min_size=1),
    st.floats(0, 1),
)  # fmt: skip
def test_as_many_leave_or_are_skipped_as_get_it(zones: dict[str, int], share: float) -> None:
    gets_it = int(sum(zones.values()) * share)
    kinds = {PersonKind(zone): count for zone, count in zones.items()}
    found = foresee(kinds, gets_it, Rules(START, 2 * DAY, quiet=NIGHT), Capacity(0.005), exact=True)
    assert found.sent + sum(found.skipped.values()) == gets_it
    assert sum(found.counts) == found.sent
    assert len(found.counts) <= course.MOST_STEPS
    assert found.exact == (gets_it in (0, sum(zones.values())))


def test_who_sleeps_gets_it_in_the_morning_and_the_curve_shows_it() -> None:
    halves = {PersonKind("UTC"): 600, PersonKind("Asia/Seoul"): 600}
    found = foresee(halves, 1_200, Rules(START, DAY, quiet=NIGHT), Capacity(1.0), exact=True)
    assert (found.step, found.sent, found.skipped) == (600, 1_200, {})
    assert (found.counts[0], found.counts[-1]) == (600, 600)
    assert sum(found.counts[1:-1]) == 0
    assert found.ends_at == datetime(2026, 12, 1, 23, 9, 59, tzinfo=UTC)


def test_of_a_large_audience_each_stands_for_several_in_the_same_time() -> None:
    many = foresee(
        {PersonKind("UTC"): 1_000_000}, 1_000_000, Rules(START, DAY), Capacity(5_000), exact=True
    )
    assert (many.sent, many.exact) == (1_000_000, False)
    assert many.ends_at is not None
    assert abs((many.ends_at - START).total_seconds() - 200) < 1


def test_nobody_who_gets_it_has_no_course() -> None:
    found = foresee({}, 0, Rules(START, DAY), Capacity(1.0), exact=True)
    assert (found.sent, found.counts, found.ends_at) == (0, [], None)


@settings(max_examples=10, deadline=None)  # each solves for 200,000
@given(st.integers(course.MOST + 1, 5 * course.MOST))
def test_of_a_large_audience_the_numbers_are_those_of_everybody(people: int) -> None:
    kinds = {PersonKind("UTC"): people}
    many = foresee(kinds, people, Rules(START, DAY), Capacity(5_000), exact=True)
    assert many.sent == sum(many.counts) == people
