"""Engagement: what happened on the phones, as a funnel with its goal, by group and over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.engagement import goal_in_words
from campaigns.engagement.funnel import (
    SLOT_MINUTES,
    Funnel,
    Goal,
    StepCount,
    funnel,
    goal_over_time,
    over_time,
)
from campaigns.engagement.goal import without_value
from campaigns.engagement.receipt import Event
from campaigns.forecast.opens import Opens
from campaigns.launch_check import stored_forecast
from campaigns.results import breakdown
from campaigns.runs import sums
from campaigns.runs.pages.result.bars import Bars, Called, drawn
from campaigns.runs.pages.result.by_property import SHOWN, TITLES, in_words
from campaigns.runs.run import Run
from notifications.admin.ui.polling import COMING_BACK
from notifications.values.moments import SHORT_DAY_AND_CLOCK, local
from notifications.values.shares import share, width

MAX_BARS = 72
STRETCHES = (1, 3, 6, 12, 36, 144, 1_008)  # slots of ten minutes: half an hour, …, a day, a week
# A long forecast is drawn this many times as far as the bars, so that they stay visible.
AHEAD = 4
ECHO = timedelta(minutes=30)  # most receipts arrive within this time after the run's end
OVER_TIME = {
    Event.RECEIVED: gettext_lazy("Received over time"),
    Event.DISPLAYED: gettext_lazy("Displayed over time"),
    Event.OPENED: gettext_lazy("Opened over time"),
}
BY_GROUP = {
    Event.RECEIVED: gettext_lazy("Received by group"),
    Event.DISPLAYED: gettext_lazy("Displayed by group"),
    Event.OPENED: gettext_lazy("Opened by group"),
}


@dataclass(frozen=True)
class Row:
    """One step of the funnel."""

    label: str
    count: int
    width: str
    reported: StepCount | None = None  # None: a number that we know ourselves
    coverage: str = ""
    total: str = ""  # name of a total: totals refresh more often, with this number


def echo_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
    context = picture(run, timezone.now())
    if request.GET.get("tag") == context.get("echo_tag"):
        return HttpResponse(status=204)  # htmx leaves the page as it is, and opened parts open
    return render(request, "admin/campaigns/run/echo.html", context)


def picture(run: Run, now: datetime) -> dict[str, Any]:
    if run.planned is None:
        return {"echo": None}
    totals = sums.totals_of(run)
    results = funnel(run, totals, breakdown.kept_of(run))
    asks = run.project.asks_receipts
    last = results.last
    return {
        "run": run,
        "zone": run.project.timezone,
        "echo": results if asks or results.has_reports else None,
        "asks_receipts": asks,
        "may_have": results.may_have,
        "accepted": totals.accepted,
        "unsure": totals.unknown,
        "echo_rows": _rows(run, results, totals),
        "echo_groups": [
            (by, str(TITLES[by]), _lines(results, by))
            for by, groups in results.groups.items()
            if any(group.value for group in groups)
        ],
        "echo_by_group": BY_GROUP[last] if last else "",
        "echo_charts": _charts(run, results),
        **_goal(run, results),
        "echo_trigger": _asks_again(run, now),
        "echo_tag": _tag(run, results, totals),
    }


def _tag(run: Run, results: Funnel, totals: sums.Totals) -> str:
    """A text that changes when the card changes."""
    step_counts = (count for step in results.steps for count in (step.count, step.able))
    beside = sum(other_count.count for other_count in results.beside)
    goal = (results.goal.times, results.goal.amount) if results.goal else ()
    return ".".join(
        map(str, (run.state, totals.planned, totals.accepted, *step_counts, beside, *goal))
    )


def _rows(run: Run, results: Funnel, totals: sums.Totals) -> list[Row]:
    def row(label: Any, count: int, **more: Any) -> Row:
        return Row(str(label), count, width(count, totals.planned), **more)

    ours = [
        row(_("Planned"), totals.planned, total="planned"),
        row(_("Accepted"), totals.accepted, total="accepted"),
    ]
    theirs = (
        row(step.event.label, step.count, reported=step, coverage=step.coverage(results.may_have))
        for step in results.steps
    )
    reached = (
        row(
            run.goal_event,
            goal.reported.count,
            reported=goal.reported,
            coverage=goal.reported.coverage(results.may_have),
        )
        for goal in [results.goal]
        if goal
    )
    return [*ours, *theirs, *reached]


def _goal(run: Run, results: Funnel) -> dict[str, Any]:
    """The goal's results, in words and by group."""
    goal = results.goal
    if goal is None:
        return {"goal": None}
    opened = (
        step_count
        for step_count in results.steps
        if step_count.event == goal.reported.event == Event.OPENED
    )
    step = next((step_count for step_count in opened if step_count.count), None)
    return {
        "goal": goal,
        "goal_said": goal_in_words.goal_in_words(run),
        "goal_without": without_value(run) if goal.times else 0,
        "goal_amount": amount(goal.amount) if run.goal_value else "",
        # Other reports imply “received”, too; the number of these devices is not counted.
        "goal_of_opened": share(goal.reported.count, step.count) if step else "",
        "goal_groups": [
            (by, str(TITLES[by]), _goal_lines(results, by))
            for by, groups in results.goal_groups.items()
            if any(group.value for group in groups)
        ],
    }


def amount(number: Decimal) -> str:
    """A number written like money, or with all its digits."""
    if number == number.to_integral_value():
        return f"{number:,.0f}"
    return f"{number:,.2f}" if number == round(number, 2) else f"{number:,.6f}".rstrip("0")


def _goal_lines(results: Funnel, by: str) -> list[tuple[str, Goal, str]]:
    """The largest groups, and all others as one: the lines add up to the funnel's goal."""
    whole, largest = results.goal, results.goal_groups[by][:SHOWN]
    if whole is None:
        return []
    rest_count = StepCount(
        whole.reported.event,
        whole.reported.count - sum(group.goal.reported.count for group in largest),
        (whole.reported.able or 0) - sum(group.goal.reported.able or 0 for group in largest),
    )
    all_others = Goal(
        rest_count,
        whole.times - sum(group.goal.times for group in largest),
        whole.amount - sum((group.goal.amount for group in largest), Decimal()),
    )
    lines = [(in_words(by, group.value), group.goal) for group in largest]
    lines += [(_("All others"), all_others)] if rest_count.able else []
    return [(words, goal, amount(goal.amount)) for words, goal in lines]


def _lines(results: Funnel, by: str) -> list[tuple[str, StepCount]]:
    """The largest groups, and all others as one: the lines add up to the funnel's step."""
    largest = results.groups[by][:SHOWN]
    (whole,) = (step for step in results.steps if step.event == results.last)
    count = whole.count - sum(group.reported.count for group in largest)
    able = (whole.able or 0) - sum(group.reported.able or 0 for group in largest)
    all_others = [(_("All others"), StepCount(whole.event, count, able))] if able else []
    return [*((in_words(by, group.value), group.reported) for group in largest), *all_others]


def _asks_again(run: Run, now: datetime) -> str:
    """The `hx-trigger`: receipts arrive during the run, and for days."""
    began = run.started_at is not None
    fresh = run.finished_at is None or now - run.finished_at < ECHO
    return f"every 3s, {COMING_BACK}" if began and fresh else COMING_BACK


def _charts(run: Run, results: Funnel) -> list[Bars]:
    """A chart for each step with reports, and for the goal: the last step first."""
    charts = [
        _bars(run, _called(step.event), over_time(run.pk, step.event), _opens(run, step.event))
        for step in results.steps
        if step.count
    ]
    if results.goal and results.goal.times:
        title = _("“%(event)s” over time") % {"event": run.goal_event}
        charts.append(_bars(run, Called("goal", title, run.goal_event), goal_over_time(run.pk)))
    return [bars for bars in reversed(charts) if bars]


def _called(event: Event) -> Called:
    return Called(event.name.lower(), str(OVER_TIME[event]), str(event.label))


def _opens(run: Run, event: Event) -> Opens | None:
    return stored_forecast.opens_of(run) if event == Event.OPENED else None


def _bars(run: Run, called: Called, counts: list[int], opens: Opens | None = None) -> Bars | None:
    """The chart of one step. None: too short for a chart."""
    began = run.started_at
    if len(counts) < 2 or began is None:
        return None
    plan = _foreseen(opens, AHEAD * len(counts))
    many = max(len(counts), len(plan))
    slots = next((slots for slots in STRETCHES if many <= slots * MAX_BARS), STRETCHES[-1])
    summed, planned = _summed(counts, slots), _summed(plan, slots)
    zone, stretch = run.project.timezone, timedelta(minutes=SLOT_MINUTES * slots)
    ends = range(max(len(summed), len(planned)) + 1)
    since = [local(began + stretch * at, zone, SHORT_DAY_AND_CLOCK) for at in ends]
    plan_note = _describe_plan(opens) if plan and opens else ""
    return drawn(called, since, summed, planned, plan_note)


def _foreseen(opens: Opens | None, most: int) -> list[float]:
    """The forecast in the same slots, scaled to what phones report; at most `most` slots."""
    if opens is None or not (opens.counts and opens.expected):
        return []
    counts = stored_forecast.in_steps(opens.counts, opens.step, 60 * SLOT_MINUTES)
    return [count * opens.told / opens.expected for count in counts[:most]]


def _describe_plan(opens: Opens) -> str:
    text = _(
        "Dashed: as foreseen when it began. About %(count)s opens, of which phones tell of about "
        "%(told)s."
    )
    if opens.told >= opens.expected:
        text = _("Dashed: as foreseen when it began. About %(count)s opens.")
    return text % {"told": f"{opens.told:,}", "count": f"{opens.expected:,}"}


def _summed(counts: Sequence[float], slots: int) -> list[float]:
    return [sum(counts[at : at + slots]) for at in range(0, len(counts), slots)]
