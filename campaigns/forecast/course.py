"""Course: how many messages of a run would leave when, and how many would come too late.

People who get nothing for another reason are removed from every kind in proportion. A very large
audience is sampled: each person then stands for several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from campaigns.forecast.solver.capacity import Capacity
from campaigns.forecast.solver.rules import People, PersonKind, Rules
from campaigns.forecast.solver.solving import solve

MOST = 200_000  # people in a plan: a page waits a tenth of a second for it
MOST_STEPS = 72  # more steps make a chart no clearer
FINE_STEPS = 2_000  # of a kept course: charts also show only the first part of a day
NOBODY = -1  # no reason has this number
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


@dataclass(frozen=True)
class Course:
    starts_at: datetime
    ends_at: datetime | None  # when the last message leaves; None: none does
    sent: int
    skipped: dict[str, int]  # by reason
    step: int  # seconds
    counts: list[int]  # messages that leave in each step from the start on
    exact: bool  # False: some of its people were estimated, or stand for others


def kinds(clocks: Mapping[tuple[str, int | None], int]) -> dict[PersonKind, int]:
    """Return the device counts by kind: the person's time zone and best hour."""
    return {PersonKind(zone, best_hour=hour): count for (zone, hour), count in clocks.items()}


def foresee(
    kinds: Mapping[PersonKind, int],
    gets_it: int,
    rules: Rules,
    capacity: Capacity,
    *,
    exact: bool,
    steps: int = MOST_STEPS,
) -> Course:
    """Compute the course. `gets_it`: how many of all devices get it, unless it is too late."""
    people, less, scale = drawn(kinds, gets_it, rules, most=MOST)
    plan = solve(people, less, _slow_down(capacity, scale))
    step = fitting((plan.last - plan.start).total_seconds() if plan.last else 0, steps)
    sent, *lost = in_proportion([plan.sent, *plan.skipped.values()], gets_it)
    return Course(
        starts_at=rules.start,
        ends_at=plan.last,
        sent=sent,
        skipped=dict(zip(plan.skipped, lost, strict=True)),
        step=step,
        counts=in_proportion(plan.curve(timedelta(seconds=step)), sent),
        exact=exact and scale == 1 and gets_it in (0, sum(kinds.values())),
    )


@dataclass(frozen=True)
class Late:
    """Kinds of which everybody gets nothing, and kinds of which only some do. Who these are depends
    on their turn, which nobody knows before the launch."""

    everybody: list[PersonKind]
    some: list[PersonKind]


def who_is_late(
    kinds: Mapping[PersonKind, int], gets_it: int, rules: Rules, capacity: Capacity, reason: str
) -> Late:
    people, less, scale = drawn(kinds, gets_it, rules, most=MOST)
    plan = solve(people, less, _slow_down(capacity, scale))
    number = plan.reasons.index(reason) if reason in plan.reasons else NOBODY
    lost = Counter(kind for kind, why in zip(people.of, plan.why, strict=True) if why == number)
    whole = Counter(people.of)
    late = Late([], [])
    for kind, count in lost.items():
        (late.everybody if count == whole[kind] else late.some).append(people.kinds[kind])
    return late


def drawn(
    kinds: Mapping[PersonKind, int], gets_it: int, rules: Rules, *, most: int
) -> tuple[People, Rules, int]:
    """Return at most `most` people, the rules for them, and how many devices each stands for."""
    scale = max(1, -(-gets_it // most))
    people = People.mixed(shared_out(kinds, gets_it // scale).items())
    return people, fewer(rules, scale), scale


def fewer(rules: Rules, each: int) -> Rules:
    """Scale the rules down for people who each stand for `each` devices."""
    return replace(rules, first=-(-rules.first // each))


def shared_out(kinds: Mapping[PersonKind, int], many: int) -> dict[PersonKind, int]:
    """Share `many` out among the kinds, in proportion to their counts."""
    return dict(zip(kinds, in_proportion(kinds.values(), many), strict=True))


def in_proportion(counts: Collection[int], many: int) -> list[int]:
    """Scale the counts and round them, so that together they are exactly `many`."""
    everybody = sum(counts) or 1
    until = [0, *(total * many // everybody for total in accumulate(counts))]
    return [after - before for before, after in pairwise(until)]


def _slow_down(capacity: Capacity, times: int) -> Capacity:
    return replace(
        capacity,
        full=capacity.full / times,
        most=capacity.most and capacity.most / times,
        cold=capacity.cold and capacity.cold / times,
        climb=capacity.climb / times,
        others=tuple(replace(other, rate=other.rate / times) for other in capacity.others),
    )


def fitting(seconds: float, most: int) -> int:
    """Return the shortest step of which fewer than `most` cover these seconds."""
    return next((step for step in STEPS if seconds < step * most), STEPS[-1])
