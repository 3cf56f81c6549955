"""Two on one day: for each pair of campaigns that is planned for it, who would get both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Any

from campaigns.planning.calendar import Entry
from campaigns.planning.campaign import Campaign
from campaigns.planning.collisions.both import Both, both
from notifications.postgres.budget import clock, until

COUNTING_SECONDS = 2.0  # of one page, for all of its days
MOST_PAIRS = 3  # of one day; more could not be read in its cell


@dataclass(frozen=True)
class Collision:
    one: Campaign
    other: Campaign
    both: Both | None  # None: not counted, as it took too long


def collisions(days: Mapping[date, Sequence[Entry]]) -> dict[date, list[Collision]]:
    """Of days with what is planned for them, the earliest first. Nobody who would get only one is
    told of, and no pair of which nobody gets both."""
    ends = clock() + COUNTING_SECONDS
    with until(ends):
        found = {day: [*_of_day(entries)] for day, entries in sorted(days.items())}
    return {day: pairs for day, pairs in found.items() if pairs}


def _of_day(entries: Sequence[Entry]) -> Iterator[Collision]:
    rules = [(entry, _rules(entry)) for entry in entries]
    pairs = [*combinations([(entry, tree) for entry, tree in rules if tree is not None], 2)]
    for (one, tree), (other, of_other) in pairs[:MOST_PAIRS]:
        found = both(one.campaign.project_id, tree, of_other)
        if found is None or found.people:
            yield Collision(one.campaign, other.campaign, found)


def _rules(entry: Entry) -> dict[str, Any] | None:
    launched = entry.run or entry.follows
    return launched.rules if launched else None
