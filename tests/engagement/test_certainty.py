"""How sure a comparison is: right shares, and no false alarm however often one looks."""

from __future__ import annotations

from math import log
from random import Random

import pytest

from campaigns.engagement import certainty

SURE = log(20)


def looked_at_after_each(
    random: Random, people: tuple[int, int], shares: tuple[float, float]
) -> tuple[bool, bool]:
    """Those who open it, in the order of chance, looked at after every one of them: whether it was
    ever sure, and whether it is at the end."""
    openers = [
        group
        for group, (count, share) in enumerate(zip(people, shares, strict=True))
        for _ in range(count)
        if random.random() < share
    ]
    random.shuffle(openers)
    counts, ever, now = [0, 0], False, False
    for group in openers:
        counts[group] += 1
        now = certainty.is_sure(certainty.strength(counts[0], people[0], counts[1], people[1]))
        ever = ever or now
    return ever, now


@pytest.mark.parametrize(
    ("people", "share"), [((1_500, 1_500), 0.04), ((300, 900), 0.5), ((150, 50), 0.9)]
)
def test_who_looks_after_every_opening_is_fooled_in_at_most_one_run_of_twenty(
    people: tuple[int, int], share: float
) -> None:
    random, runs = Random(19), 600
    fooled = sum(looked_at_after_each(random, people, (share, share))[0] for _ in range(runs))
    # Three of 20 standard errors above 5 % of 600 would be 46; the method is on the safe side.
    assert fooled <= 0.05 * runs


def test_a_plain_test_looked_at_as_often_is_fooled_far_more_often() -> None:
    """What the method is for: 1.96 standard errors, asked after each opening."""
    random, runs, fooled = Random(20), 200, 0
    for _ in range(runs):
        counts = [0, 0]
        for opened in range(1, 121):
            counts[random.random() < 0.5] += 1
            if opened > 10 and abs(counts[0] - counts[1]) > 1.96 * opened**0.5:
                fooled += 1
                break
    assert fooled > 0.15 * runs


def test_what_differs_is_seen_with_as_many_people_as_were_said_to_be_needed() -> None:
    people = certainty.needed(0.10, 0.13)
    random, runs = Random(21), 100
    seen = sum(looked_at_after_each(random, (people, people), (0.10, 0.13))[1] for _ in range(runs))
    assert 0.65 * runs <= seen <= 0.95 * runs


def test_a_smaller_difference_a_rarer_event_and_more_comparisons_need_more_people() -> None:
    needed = certainty.needed(0.032, 0.040)
    assert 8_000 < needed < 25_000  # a test looked at once, at the end, would need 8,500
    assert certainty.needed(0.032, 0.036) > needed
    assert certainty.needed(0.0032, 0.0040) > needed
    assert certainty.needed(0.032, 0.040, comparisons=4) > needed
    assert certainty.needed(0.04, 0.04) == certainty.needed(0.0, 0.1) == 0


def test_evidence_does_not_depend_on_which_group_is_named_first() -> None:
    one = certainty.strength(50, 1_000, 90, 2_000)
    assert one == pytest.approx(certainty.strength(90, 2_000, 50, 1_000))


def test_nobody_who_opened_it_is_no_evidence_and_neither_is_an_impossible_count() -> None:
    assert certainty.strength(0, 1_000, 0, 1_000) == 0
    assert certainty.strength(1_001, 1_000, 0, 1_000) == 0
    assert certainty.strength(0, 0, 5, 10) == 0


def test_several_comparisons_have_to_show_more_each() -> None:
    assert certainty.is_sure(SURE)
    assert not certainty.is_sure(SURE, comparisons=2)
    assert certainty.is_sure(log(40), comparisons=2)


def test_an_interval_is_wilsons() -> None:
    low, high = certainty.interval(10, 100)
    assert (round(low, 4), round(high, 4)) == (0.0552, 0.1744)  # as his formula gives it
    assert certainty.interval(0, 50)[0] == 0.0 < certainty.interval(0, 50)[1] < 0.1
    assert certainty.interval(50, 50)[1] == 1.0
    assert certainty.interval(0, 0) == (0.0, 1.0)
