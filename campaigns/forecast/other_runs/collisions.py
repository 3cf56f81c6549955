"""Collisions: for each pair of campaigns planned for one day, how many people would get both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations

from campaigns.forecast.other_runs.common_people import Overlap, count_overlap
from campaigns.planning.calendar import Entry
from campaigns.planning.campaign import Campaign
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
        by_day = {day: _count_day(entries) for day, entries in sorted(days.items())}
    return {
        day: day_collisions
        for day, day_collisions in by_day.items()
        if day_collisions.pairs or day_collisions.left
    }


def _count_day(entries: Sequence[Entry]) -> DayCollisions:
    launched = [(entry.campaign, run) for entry in entries if (run := _run_of(entry))]
    pairs = _pair_up(launched)
    counted = [
        Collision(
            campaign, other_campaign, count_overlap(campaign.project_id, run.rules, other_run.rules)
        )
        for (campaign, run), (other_campaign, other_run) in pairs[:MAX_PAIRS]
    ]
    overlapping = [pair for pair in counted if pair.both is None or pair.both.people]
    return DayCollisions(overlapping, len(pairs) - len(counted))


def _pair_up(launched: Sequence[Launched]) -> list[tuple[Launched, Launched]]:
    """Pair each campaign with each other one, however often it is sent. A campaign that people get
    more than once is also paired with itself."""
    times = Counter(campaign.pk for campaign, _run in launched)
    launches = list({launch[0].pk: launch for launch in launched}.values())
    repeated = [
        launch for launch in launches if times[launch[0].pk] > 1 and not launch[1].once_each
    ]
    return [*combinations(launches, 2), *((launch, launch) for launch in repeated)]


def _run_of(entry: Entry) -> Run | None:
    return entry.run or entry.follows
