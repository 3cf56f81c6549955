"""Funnel: a run's received, displayed and opened messages and its goal, as shares of the devices
that can report them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from campaigns.engagement.goal import STEP_OF, GoalSum
from campaigns.engagement.receipt import STEPS, EchoSum, Event
from campaigns.runs.run import Run
from campaigns.runs.sums import CUT_BY, STATUSES, Breakdown, Totals
from notifications.values.shares import share

BESIDE = (Event.DISMISSED, Event.ACTION_1, Event.ACTION_2, Event.ACTION_3)
SLOT_MINUTES = 10

Sums = dict[tuple[str, str, int], EchoSum]
GoalSums = dict[tuple[str, str], GoalSum]


@dataclass(frozen=True)
class StepCount:
    """How many devices reported an event, and how many would report it (`able`).

    `able` is None until the recipients of a finished run are counted. A share of all devices would
    be wrong: if a device reports nothing, nobody knows whether it opened anything.
    """

    event: Event
    count: int
    able: int | None

    @property
    def share(self) -> str:
        return share(self.count, self.able) if self.able else ""

    def coverage(self, total: int) -> str:
        """The share of devices that would report it, in percent."""
        return share(self.able, total) if self.able is not None and total else ""


@dataclass(frozen=True)
class Group:
    """One step for the devices of one platform, language, time zone or app version."""

    value: str
    reported: StepCount


@dataclass(frozen=True)
class Goal:
    """How many devices reached the goal, out of those that can report any step.

    If nobody knows what a device opened, nobody knows whether the push led to the goal.
    """

    reported: StepCount
    times: int
    amount: Decimal


@dataclass(frozen=True)
class GoalGroup:
    """The goal for the devices of one platform, language, time zone or app version."""

    value: str
    goal: Goal


@dataclass(frozen=True)
class OfGroup:
    """All steps and the goal of one group."""

    value: str
    may_have: int
    steps: list[StepCount]
    goal: Goal | None


@dataclass(frozen=True)
class Funnel:
    steps: list[StepCount]
    beside: list[StepCount]  # other reported events: dismissals and buttons
    groups: dict[str, list[Group]]  # of the last reported step, by platform, language and so on
    last: Event | None
    may_have: int  # devices that may have got it: accepted or unknown
    goal: Goal | None  # None: the run has no goal
    goal_groups: dict[str, list[GoalGroup]]

    @property
    def has_reports(self) -> bool:
        return any(step.count for step in (*self.steps, *self.beside))


def funnel(run: Run, totals: Totals, kept: Breakdown | None) -> Funnel:
    """The funnel of a run. `kept`: the breakdown of the finished run; None: not counted yet."""
    sums = _sums(run.pk)
    steps = [_step_count(event, sums, kept) for event in STEPS]
    beside = [_step_count(event, sums, None) for event in BESIDE]
    last = next((step.event for step in reversed(steps) if step.count), None)
    return Funnel(
        steps=steps,
        beside=[event_count for event_count in beside if event_count.count],
        groups=_groups(sums, kept, last) if kept and last else {},
        last=last,
        may_have=totals.accepted + totals.unknown,
        **_goal_fields(run, sums, kept),
    )


def by_group(run: Run, kept: Breakdown, by: str) -> list[OfGroup]:
    """All steps and the goal of each group by platform, language and so on; the largest first."""
    counts = kept.counts.get(by, {}).items()
    largest_first = sorted(counts, key=lambda item: (-sum(item[1]), item[0]))
    return of_values(run, kept, by, [value for value, _ in largest_first])


def of_values(run: Run, kept: Breakdown | None, by: str, values: Sequence[str]) -> list[OfGroup]:
    """All steps and the goal of these groups, in this order; without shares until counted."""
    sums, goal_sums = _sums(run.pk), _goal_sums(run)
    step = STEP_OF[Run.GoalAfter(run.goal_after)]
    counts = kept.counts.get(by, {}) if kept else {}
    return [
        OfGroup(
            value=value,
            may_have=sum(
                counts[value][STATUSES.index(status)]
                for status in ("accepted", "unknown")
                if value in counts
            ),
            steps=[_step_count(event, sums, kept, by, value) for event in STEPS],
            goal=_goal_of_group(step, goal_sums, sums, kept, by, value) if run.goal_event else None,
        )
        for value in values
    ]


def over_time(run_id: int, event: Event) -> list[int]:
    """How many devices reported the event in each ten minutes since the run began; may be empty."""
    rows = EchoSum.objects.filter(run_id=run_id, by=EchoSum.By.AFTER, event=event)
    counts = {int(value): count for value, count in rows.values_list("value", "count")}
    return [counts.get(slot, 0) for slot in range(max(counts) + 1)] if counts else []


def goal_over_time(run_id: int) -> list[int]:
    """How often the goal was reached in each ten minutes since the run began, by event time."""
    rows = GoalSum.objects.filter(run_id=run_id, by=GoalSum.By.AFTER, times__gt=0)
    counts = {int(value): times for value, times in rows.values_list("value", "times")}
    return [counts.get(slot, 0) for slot in range(max(counts) + 1)] if counts else []


def _goal_fields(run: Run, sums: Sums, breakdown: Breakdown | None) -> dict[str, Any]:
    if not run.goal_event:
        return {"goal": None, "goal_groups": {}}
    goal_sums = _goal_sums(run)
    step = STEP_OF[Run.GoalAfter(run.goal_after)]
    goal = _goal_of_group(step, goal_sums, sums, breakdown)
    groups = _goal_groups(step, goal_sums, sums, breakdown) if breakdown and goal.times else {}
    return {"goal": goal, "goal_groups": groups}


def _goal_sums(run: Run) -> GoalSums:
    rows = GoalSum.objects.filter(run_id=run.pk).exclude(by=GoalSum.By.AFTER)
    return {(row.by, row.value): row for row in rows}


def _goal_of_group(
    step: Event,
    goal_sums: GoalSums,
    sums: Sums,
    breakdown: Breakdown | None,
    by: str = "",
    value: str = "",
) -> Goal:
    row = goal_sums.get((by, value)) or GoalSum(recipients=0, times=0, amount=Decimal())
    # Devices that report any step: a device that reports an earlier step also reports the last.
    able = _able_to_report(STEPS[-1], sums, breakdown, by, value) if breakdown else None
    step_count = StepCount(step, row.recipients, able)
    return Goal(step_count, row.times, row.amount)


def _goal_groups(
    step: Event, goal_sums: GoalSums, sums: Sums, breakdown: Breakdown
) -> dict[str, list[GoalGroup]]:
    groups = {}
    for by in CUT_BY:
        all_groups = [GoalGroup(value, _goal_of_group(step, goal_sums, sums, breakdown, by, value))
                for value in breakdown.counts.get(by, {})]  # fmt: skip
        reporting_groups = [group for group in all_groups if group.goal.reported.able]
        groups[by] = sorted(
            reporting_groups, key=lambda group: (-(group.goal.reported.able or 0), group.value)
        )
    return groups


def opened(runs: Sequence[Run]) -> dict[int, StepCount]:
    """How many devices opened each of these runs, and how many would report it. Two SQL queries."""
    sums: dict[int, Sums] = defaultdict(dict)
    whole = EchoSum.objects.filter(run_id__in=[run.pk for run in runs], by=EchoSum.By.ALL)
    for row in whole:
        sums[row.run_id][row.by, row.value, row.event] = row
    breakdowns = Breakdown.objects.filter(run__in=runs).defer("counts", "others").in_bulk()
    return {
        run.pk: _step_count(Event.OPENED, sums[run.pk], _current_breakdown(run, breakdowns))
        for run in runs
    }


def _current_breakdown(run: Run, breakdowns: dict[int, Breakdown]) -> Breakdown | None:
    breakdown = breakdowns.get(run.pk)
    return breakdown if breakdown and breakdown.is_of(run) else None


def _sums(run_id: int) -> Sums:
    rows = EchoSum.objects.filter(run_id=run_id).exclude(by=EchoSum.By.AFTER)
    return {(row.by, row.value, row.event): row for row in rows}


def _step_count(
    event: Event, sums: Sums, breakdown: Breakdown | None, by: str = "", value: str = ""
) -> StepCount:
    row = sums.get((by, value, event))
    count = row.count if row else 0
    return StepCount(
        event, count, _able_to_report(event, sums, breakdown, by, value) if breakdown else None
    )


def _able_to_report(event: Event, sums: Sums, breakdown: Breakdown, by: str, value: str) -> int:
    """How many devices are known to report this step or an earlier one, before the run or since."""
    reporting = breakdown.reporting.get(by, {})
    known: dict[str, int] = reporting.get(value, {}) if by else reporting
    steps = [step for step in STEPS if step <= event]
    since = (row.first for step in steps if (row := sums.get((by, value, step))))
    return sum(known.get(str(step.value), 0) for step in steps) + sum(since)


def _groups(sums: Sums, breakdown: Breakdown, event: Event) -> dict[str, list[Group]]:
    """The groups with devices that can report this step; the largest first."""
    groups = {}
    for by in CUT_BY:
        step_counts = {
            value: _step_count(event, sums, breakdown, by, value)
            for value in breakdown.counts.get(by, {})
        }
        reporting_groups = [
            Group(value, step_count) for value, step_count in step_counts.items() if step_count.able
        ]
        groups[by] = sorted(
            reporting_groups, key=lambda group: (-(group.reported.able or 0), group.value)
        )
    return groups
