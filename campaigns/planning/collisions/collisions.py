"""Collisions: for each pair of campaigns planned for one day, how many people would get both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations

from campaigns.planning.calendar import Entry
from campaigns.planning.campaign import Campaign
from campaigns.planning.collisions.overlap import Overlap, count_overlap
from campaigns.runs.run import Run
from notifications.postgres.budget import clock, until

COUNTING_SECONDS = 2.0  # of one page, for all of its days
MAX_PAIRS = 6  # per day: every pair of four campaigns

Launched = tuple[Campaign, Run]


@dataclass(frozen=True)
class Collision:
    one: Campaign
    other: Campaign
    both: Overlap | None  # None: not counted, as it took too long


@dataclass(frozen=True)
class DayCollisions:
    pairs: list[Collision]
    left: int  # how many more pairs there are that were not counted


def collisions(days: Mapping[date, Sequence[Entry]]) -> dict[date, DayCollisions]:
    """Count the collisions on each day, the earliest day first. A pair without a common person is
    left out."""
    ends = clock() + COUNTING_SECONDS
    with until(ends):
        found = {day: _of_day(entries) for day, entries in sorted(days.items())}
    return {day: one for day, one in found.items() if one.pairs or one.left}


def _of_day(entries: Sequence[Entry]) -> DayCollisions:
    launched = [(entry.campaign, run) for entry in entries if (run := _launched(entry))]
    pairs = _pairs(launched)
    found = [
        Collision(one, other, count_overlap(one.project_id, run.rules, of_other.rules))
        for (one, run), (other, of_other) in pairs[:MAX_PAIRS]
    ]
    told = [pair for pair in found if pair.both is None or pair.both.people]
    return DayCollisions(told, len(pairs) - len(found))


def _pairs(launched: Sequence[Launched]) -> list[tuple[Launched, Launched]]:
    """Pair each campaign with each other one, however often it is sent. A campaign that people get
    more than once is also paired with itself."""
    times = Counter(campaign.pk for campaign, _run in launched)
    each = list({one[0].pk: one for one in launched}.values())
    again = [one for one in each if times[one[0].pk] > 1 and not one[1].once_each]
    return [*combinations(each, 2), *((one, one) for one in again)]


def _launched(entry: Entry) -> Run | None:
    return entry.run or entry.follows
