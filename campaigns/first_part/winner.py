"""Which variant does the rest get? The one that more people opened, or that brought the goal about
from more, of those who tried it.

It is asked once, when a wait is over that was fixed before: whoever looks earlier changes nothing.
So the better one so far is taken, whether or not that is sure; between equals it hardly matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.echo import by_group
from campaigns.first_part.judgement import ENOUGH
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN, REST


@dataclass(frozen=True)
class Tried:
    """What came of one variant: so many of its people opened it, or did what the run is for."""

    number: int
    people: int
    count: int


def tried(run: Run) -> list[Tried] | None:
    """Each variant, the main text first. None: it takes too long to count."""
    counts = by_group.did(run) if run.winner_by == Run.WinnerBy.GOAL else by_group.opened(run)
    if counts is None:
        return None
    people, _devices = by_group.groups(run)
    numbers = [number for number in sorted(people) if MAIN <= number < REST]
    return [Tried(number, people[number], counts.get(number, 0)) for number in numbers]


def best(variants: Sequence[Tried]) -> int:
    """In whole numbers; of equals the first."""
    leading = Tried(MAIN, 1, 0)
    for one in variants:
        if one.count * leading.people > leading.count * one.people:
            leading = one
    return leading.number


def chosen(variants: Sequence[Tried] | None) -> int | None:
    """None: too little came of them to say."""
    if not variants or sum(one.count for one in variants) < ENOUGH:
        return None
    return best(variants)
