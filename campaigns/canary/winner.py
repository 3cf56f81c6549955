"""Winner: chooses the variant that the rest of a run gets.

A variant wins if it is clearly better than the main text; the main text wins if it is clearly
better than all others. The run's page asks for the same evidence: see `evidence`. Without a winner,
the setting `no_winner` that the launch froze decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.engagement import by_group, certainty
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN, REST

COUNTING_SECONDS = 30.0  # the choice is made once, and no page waits for it


@dataclass(frozen=True)
class Tried:
    """The result of one variant: how many of its people opened it or reached the goal."""

    number: int
    people: int
    count: int

    def did_more_than(self, other: Tried) -> bool:
        """Whether a larger share of its people did it, computed in whole numbers."""
        return self.count * other.people > other.count * self.people

    def is_clearly_better(self, other: Tried, *, comparisons: int) -> bool:
        strength = certainty.strength(self.count, self.people, other.count, other.people)
        return self.did_more_than(other) and certainty.is_sure(strength, comparisons=comparisons)


def tried(run: Run, *, seconds: float | None = None) -> list[Tried] | None:
    """The result of each variant, the main text first. None: counting takes longer than `seconds`,
    or by default than a page may wait."""
    count = by_group.did if run.winner_by == Run.WinnerBy.GOAL else by_group.opened
    counts = count(run, seconds=seconds)
    if counts is None:
        return None
    people, _devices = by_group.groups(run)
    numbers = [number for number in sorted(people) if MAIN <= number < REST]
    return [Tried(number, people[number], counts.get(number, 0)) for number in numbers]


def best(variants: Sequence[Tried]) -> int:
    """The number of the best variant so far, sure or not; of equal ones the first."""
    leading = Tried(MAIN, 1, 0)
    for variant in variants:
        if variant.did_more_than(leading):
            leading = variant
    return leading.number


def find_winner(variants: Sequence[Tried] | None) -> int | None:
    """The number of the winning variant. None: there is too little evidence, or no count."""
    if not variants or len(variants) < 2 or variants[0].number != MAIN:
        return None
    main, *others = variants
    comparison_count = len(others)
    if better := [
        variant
        for variant in others
        if variant.is_clearly_better(main, comparisons=comparison_count)
    ]:
        return best(better)
    return (
        MAIN
        if all(main.is_clearly_better(variant, comparisons=comparison_count) for variant in others)
        else None
    )
