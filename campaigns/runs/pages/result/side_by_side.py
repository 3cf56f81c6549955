"""Runs side by side: the results of up to five, step by step. Uses sums, so old runs work, too."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from campaigns.engagement import goal_in_words
from campaigns.engagement.funnel import Funnel, StepCount, funnel
from campaigns.results import breakdown
from campaigns.runs import sums
from campaigns.runs.pages.result.engagement import amount
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
class _Result:
    """The results of one run."""

    run: Run
    totals: Totals
    funnel: Funnel


def rows(runs: list[Run]) -> list[Row]:
    """One row per step, with a cell for each run, in the runs' order."""
    results = [_result_of(run) for run in runs]
    steps = [
        Row(str(step.event.label), [_step(result.funnel.steps[at]) for result in results])
        for at, step in enumerate(results[0].funnel.steps)
    ]
    ours = [
        Row(_("Planned"), [Cell(f"{result.totals.planned:,}") for result in results]),
        Row(_("Accepted"), [_accepted(result) for result in results]),
    ]
    if not any(result.funnel.goal for result in results):
        return [*ours, *steps]
    return [
        *ours,
        *steps,
        Row(_("Goal"), [_goal(result) for result in results]),
        Row(_("Value of the goal"), [_value(result) for result in results]),
    ]


def _result_of(run: Run) -> _Result:
    totals = sums.totals_of(run)
    return _Result(run, totals, funnel(run, totals, breakdown.kept_of(run)))


def _accepted(result: _Result) -> Cell:
    sendable = sums.without_skipped(result.totals.planned, result.totals.skipped)
    part = share(result.totals.accepted, sendable) if sendable else ""
    return Cell(
        f"{result.totals.accepted:,}",
        part,
        width(result.totals.accepted, sendable) if sendable else "0",
    )


def _step(step_count: StepCount) -> Cell:
    return Cell(
        f"{step_count.count:,}",
        step_count.share,
        width(step_count.count, step_count.able) if step_count.able else "0",
    )


def _goal(result: _Result) -> Cell:
    goal = result.funnel.goal
    if goal is None:
        return Cell("–")
    cell = _step(goal.reported)
    return Cell(cell.count, cell.share, cell.width, goal_in_words.goal_in_words(result.run))


def _value(result: _Result) -> Cell:
    goal = result.funnel.goal
    return Cell(amount(goal.amount) if goal and result.run.goal_value else "–")
