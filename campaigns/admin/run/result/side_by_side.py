"""Runs side by side: the results of up to five, step by step. Uses sums, so old runs work, too."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from campaigns.admin.run.result.engagement import amount
from campaigns.engagement import goal_in_words
from campaigns.engagement.funnel import Funnel, StepCount, funnel
from campaigns.results import breakdown
from campaigns.runs import sums
from campaigns.runs.run import Run
from campaigns.runs.sums import Totals
from notifications.values.shares import share, width


@dataclass(frozen=True)
class Cell:
    """One run's number for a step. Without a share if the whole is unknown."""

    count: str
    share: str = ""
    width: str = "0"
    hint: str = ""


@dataclass(frozen=True)
class Row:
    label: str
    cells: list[Cell]


@dataclass(frozen=True)
class _Told:
    """The results of one run."""

    run: Run
    totals: Totals
    funnel: Funnel


def rows(runs: list[Run]) -> list[Row]:
    """One row per step, with a cell for each run, in the runs' order."""
    told = [_told(run) for run in runs]
    steps = [
        Row(str(step.event.label), [_step(one.funnel.steps[at]) for one in told])
        for at, step in enumerate(told[0].funnel.steps)
    ]
    ours = [
        Row(_("Planned"), [Cell(f"{one.totals.planned:,}") for one in told]),
        Row(_("Accepted"), [_accepted(one) for one in told]),
    ]
    if not any(one.funnel.goal for one in told):
        return [*ours, *steps]
    return [
        *ours,
        *steps,
        Row(_("Goal"), [_goal(one) for one in told]),
        Row(_("Value of the goal"), [_value(one) for one in told]),
    ]


def _told(run: Run) -> _Told:
    totals = sums.totals_of(run)
    return _Told(run, totals, funnel(run, totals, breakdown.kept_of(run)))


def _accepted(one: _Told) -> Cell:
    of = sums.asked(one.totals.planned, one.totals.skipped)
    part = share(one.totals.accepted, of) if of else ""
    return Cell(f"{one.totals.accepted:,}", part, width(one.totals.accepted, of) if of else "0")


def _step(told: StepCount) -> Cell:
    return Cell(f"{told.count:,}", told.share, width(told.count, told.able) if told.able else "0")


def _goal(one: _Told) -> Cell:
    goal = one.funnel.goal
    if goal is None:
        return Cell("–")
    cell = _step(goal.told)
    return Cell(cell.count, cell.share, cell.width, goal_in_words.goal_in_words(one.run))


def _value(one: _Told) -> Cell:
    goal = one.funnel.goal
    return Cell(amount(goal.amount) if goal and one.run.goal_value else "–")
