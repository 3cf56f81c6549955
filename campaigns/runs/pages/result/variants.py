"""Results of each variant of a run, its control group and the holdout.

The page requests them after it has loaded, as they count people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from campaigns.engagement import certainty
from campaigns.engagement.funnel import StepCount
from campaigns.results.variants import Comparison, Line, compared
from campaigns.runs.run import Run
from notifications.postgres.budget import Busy, slow_query_slot
from notifications.values.shares import share

FOLDER = "admin/campaigns/run"


@dataclass(frozen=True)
class Bar:
    """A confidence interval of a share, drawn to the scale of all lines."""

    words: str  # “3.1 – 4.2 %”
    left: str
    width: str
    middle: str


@dataclass(frozen=True)
class Shown:
    """A result line with its intervals."""

    line: Line
    received: StepCount
    opened_share: str
    opened_bar: Bar | None
    goal_bar: Bar | None


def variants_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
    try:
        with slow_query_slot(run.project_id):
            return render(request, f"{FOLDER}/variants.html", _picture(run))
    except Busy:
        return render(request, f"{FOLDER}/variants.html", {"run": run, "busy": True})


def _picture(run: Run) -> dict[str, Any]:
    results = compared(run)
    if results is None:
        return {"run": run}
    # Shares of all people, whether or not their phone reports, as for the control group.
    opened = [(line.opened, line.people) for line in results.lines]
    goals = [(line.did if line.goal else None, line.people) for line in results.lines]
    opened_bars, goal_bars = _bars(opened), _bars(goals)
    lines = [
        Shown(line, line.steps[0], share(line.opened or 0, line.people), *bars)
        for line, *bars in zip(results.lines, opened_bars, goal_bars, strict=True)
    ]
    return {
        "run": run,
        "lines": lines,
        "counted": any(line.kind for line in results.lines),
        "whole": results.whole,
        "sentences": [_sentence_of(comparison) for comparison in results.comparisons],
    }


def _sentence_of(comparison: Comparison) -> tuple[str, str]:
    return str(comparison.answer), comparison.sentence


def _bars(counts: list[tuple[int | None, int]]) -> list[Bar | None]:
    """The intervals as bars. None: counting took too long."""
    known = [
        None if count is None else certainty.interval(count, people) for count, people in counts
    ]
    top = max((high for bounds in known if bounds for _, high in [bounds]), default=0.0)
    return [
        _bar(count / people, *bounds, top)
        if bounds and count is not None and people and top
        else None
        for (count, people), bounds in zip(counts, known, strict=True)
    ]


def _bar(share: float, low: float, high: float, top: float) -> Bar:
    return Bar(
        f"{100 * low:.1f} – {100 * high:.1f}\u00a0%",
        f"{100 * low / top:.2f}",
        f"{100 * (high - low) / top:.2f}",
        f"{min(99.0, 100 * share / top):.2f}",
    )
