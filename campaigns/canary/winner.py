"""Which variant does the rest get? One that is clearly better than the main text, or the main text
if it is clearly better than all others. The run's page asks for the same evidence: see `evidence`.

Without a winner the campaign does what it said before its launch (`no_winner`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.engagement import by_group
from campaigns.engagement.certainty import evidence
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN, REST

COUNTING_SECONDS = 30.0  # a choice is made once, and no page waits for it


@dataclass(frozen=True)
class Tried:
    """What came of one variant: so many of its people opened it, or did what the run is for."""

    number: int
    people: int
    count: int

    def did_more_than(self, other: Tried) -> bool:
        """In whole numbers: a larger share of its people."""
        return self.count * other.people > other.count * self.people

    def is_clearly_better(self, other: Tried, *, comparisons: int) -> bool:
        seen = evidence.strength(self.count, self.people, other.count, other.people)
        return self.did_more_than(other) and evidence.is_sure(seen, comparisons=comparisons)


def tried(run: Run, *, seconds: float | None = None) -> list[Tried] | None:
    """Each variant, the main text first. None: it takes longer than this to count, or than a page
    may wait."""
    count = by_group.did if run.winner_by == Run.WinnerBy.GOAL else by_group.opened
    counts = count(run, seconds=seconds)
    if counts is None:
        return None
    people, _devices = by_group.groups(run)
    numbers = [number for number in sorted(people) if MAIN <= number < REST]
    return [Tried(number, people[number], counts.get(number, 0)) for number in numbers]


def best(variants: Sequence[Tried]) -> int:
    """So far, whether or not that is sure; of equals the first."""
    leading = Tried(MAIN, 1, 0)
    for one in variants:
        if one.did_more_than(leading):
            leading = one
    return leading.number


def find_winner(variants: Sequence[Tried] | None) -> int | None:
    """None: there is no evidence, or nobody could count it."""
    if not variants or len(variants) < 2 or variants[0].number != MAIN:
        return None
    main, *others = variants
    of = len(others)
    if better := [one for one in others if one.is_clearly_better(main, comparisons=of)]:
        return best(better)
    return MAIN if all(main.is_clearly_better(one, comparisons=of) for one in others) else None
