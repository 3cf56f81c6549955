"""How many open it when: as many as before, as soon as before, each after their own message."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.engagement.opening import MIN_OPENED, MIN_TOLD, OpenDelays, OpenRate
from campaigns.forecast.course import MOST_STEPS, Course
from campaigns.forecast.opens import MOSTLY, STEPS, describe_opens, expected

START = datetime(2026, 12, 1, 12, tzinfo=UTC)
A_TENTH = OpenRate(200, 2_000, [7, 3], reached=4_000)
COUNTS = st.lists(st.integers(0, 5_000), min_size=1, max_size=MOST_STEPS)
DELAYS = st.lists(st.floats(0, 200_000), min_size=1, max_size=50).map(sorted)


def course(counts: list[int], step: int = 1) -> Course:
    return Course(START, START, sum(counts), {}, step, counts, exact=True)


@given(COUNTS, st.sampled_from([1, 15, 600, 7_200]), DELAYS)
def test_they_are_as_many_as_open_it_and_none_before_its_message(
    sent: list[int], step: int, delays: list[float]
) -> None:
    found = expected(course(sent, step), A_TENTH, OpenDelays(delays))
    assert found and found.expected == round(sum(sent) / 10)
    if not sum(sent):
        assert found.counts is None
        return
    assert found.counts and min(found.counts) >= 0 and len(found.counts) <= STEPS + 1
    assert 0 <= found.later <= sum(sent) * (1 - MOSTLY) / 10 + 1 + sum(sent) / 10 / len(delays)
    assert found.step >= step
    left = [0, *accumulate(sent)]
    for number, opened in enumerate(accumulate(found.counts), start=1):
        steps = -(-number * found.step // step)
        assert opened <= round(left[min(steps, len(sent))] / 10)


@given(COUNTS, st.lists(st.integers(0, 300), min_size=1, max_size=50).map(sorted))
def test_it_is_what_each_message_for_itself_brings(sent: list[int], delays: list[int]) -> None:
    """The opens of each, one by one, by the same delays."""
    found = expected(course(sent), A_TENTH, OpenDelays(delays))
    if found is None or found.counts is None:
        return
    each = [0.0] * (len(sent) + 301)
    for at, count in enumerate(sent):
        for delay in delays:
            each[at + delay] += count / 10 / len(delays)
    by = [0.0, *accumulate(each)]
    for number, opened in enumerate(accumulate(found.counts), start=1):
        end = min(number * found.step, len(each))
        assert opened == pytest.approx(by[end], abs=0.51)
    assert found.most_per_second == pytest.approx(max(each[: len(sent) + MOST_STEPS]))


def test_what_lasts_longer_than_its_readers_take_keeps_its_steps() -> None:
    found = expected(course([600] * 70, step=60), A_TENTH, OpenDelays([0, 30, 60, 600]))
    assert found and (found.step, found.half_after) == (60, 60)
    short = expected(course([600] * 70), A_TENTH, OpenDelays([0, 30, 60, 6_000]))
    assert short and short.step == 120


def test_phones_tell_of_as_many_as_they_told_of_before() -> None:
    """Half of those that were reached could tell."""
    found = expected(course([10_000]), A_TENTH, OpenDelays([1]))
    assert found and (found.expected, found.told) == (1_000, 500)
    assert found.runs == [3, 7] and found.share == 0.1


def test_where_too_few_told_nobody_knows_and_it_says_so() -> None:
    for few in (OpenRate(), OpenRate(MIN_OPENED - 1, MIN_TOLD), OpenRate(99, MIN_TOLD - 1)):
        assert expected(course([10_000]), few, OpenDelays([1])) is None
    assert describe_opens(None).startswith(
        "Nobody knows yet how many open a message of this project"
    )


def test_it_says_what_it_was_learned_from_and_how_many_come_later() -> None:
    found = expected(course([5_000] * 2), A_TENTH, OpenDelays([*[60] * 91, *[1_000_000] * 9]))
    assert describe_opens(found) == (
        "About 1,000 are expected to open it, as 10 % did of runs 3, 7. Half of them do within 1 "
        "min of getting it; at most about 455 a second. 90 of them do later than is drawn."
    )


def test_where_nobody_knows_how_soon_it_says_how_many() -> None:
    found = expected(course([5_000] * 2), A_TENTH, OpenDelays())
    assert found and found.counts is None
    assert describe_opens(found) == (
        "About 1,000 are expected to open it, as 10 % did of runs 3, 7. When, nobody can say: the "
        "recipients of these runs are no longer kept, or it took too long to ask them."
    )
