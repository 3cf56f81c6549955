"""What a share of a sample says of the share of all."""

from __future__ import annotations

import random

import pytest

from campaigns.rehearsals import projection
from campaigns.rehearsals.projection import margin, wilson
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.sums import Totals


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    # Worked out with R's prop.test(correct = FALSE).
    [(50, 1_000, 0.0381, 0.0653), (0, 1_000, 0.0, 0.0038), (10, 10, 0.7225, 1.0)],
)
def test_it_is_wilsons(count: int, of: int, low: float, high: float) -> None:
    found = wilson(count, of)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_a_thousand_tell_five_percent_by_one_point_four_points() -> None:
    assert round(margin(0.05, 1_000), 1) == 1.4


def test_of_nobody_asked_nothing_is_known() -> None:
    found = wilson(0, 0)
    assert (found.low, found.high) == (0.0, 1.0)


@pytest.mark.parametrize("dead", [0.01, 0.05, 0.3])
def test_of_many_samples_nineteen_in_twenty_hold_the_truth(dead: float) -> None:
    chance, tries = random.Random(20), 1_000
    held = 0
    for _ in range(tries):
        found = wilson(sum(chance.random() < dead for _ in range(500)), 500)
        held += found.low <= dead <= found.high
    assert held / tries > 0.93


def test_what_was_rehearsed_is_known_whatever_the_others_are() -> None:
    """Of 100 devices 90 were drawn, and 80 of these are accepted: 80 to 90 are, of all."""
    run = Run(kind="rehearsal", planned=90)
    rehearsal = Rehearsal(run=run, sample=100, devices=100)
    totals = Totals(planned=90, accepted=80, rejected=10, skipped=0, unknown=0)
    accepted, rejected, skipped, _ = projection.project_outcomes(rehearsal, totals)
    assert (accepted.count, accepted.low, accepted.high) == (89, 80, 90)
    assert (rejected.low, rejected.high) == (10, 20)
    assert (skipped.count, skipped.low) == (0, 0)
