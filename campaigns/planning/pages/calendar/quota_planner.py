"""Quota planner: each Firebase project's quota, sent and planned messages by the hour.

It also shows what one more campaign would delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.figures.hours import hours_of, of_day
from campaigns.forecast.other_runs import delays, firebase_projects, run_sizes
from campaigns.forecast.other_runs.delays import Outcome
from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.planned_runs import Planned, compute_planned
from campaigns.forecast.rate_forecast import number
from campaigns.planning.pages.calendar.hourly_heatmap import Heat, heat, levels
from campaigns.planning.pages.calendar.planner_form import PlannerForm
from campaigns.planning.pages.calendar.span import Span, day_heading, day_of, zone_of
from notifications.admin.ui.current_project import current_project, projects
from notifications.admin.ui.page import page_url
from notifications.people.project import Project
from notifications.postgres.budget import Busy, clock, slow_query_slot, until
from notifications.values.moments import CLOCK, SHORT_DAY_AND_CLOCK, in_words, local

DAYS = 2
ROWS = 20  # Firebase projects on one page
A_DAY = timedelta(days=1)


def urls() -> list[URLPattern]:
    return [path("quota/", site.admin_view(page), name="campaigns_quota")]


@dataclass(frozen=True)
class Row:
    """One Firebase project."""

    there: Firebase
    days: list[tuple[date, str, Heat]]
    planned: list[dict[str, Any]]
    more: int  # runs that were left out
    others: list[Project]  # other than the chosen one
    known: str  # when the numbers were current

    @property
    def limit(self) -> dict[str, str]:
        rate = self.there.rate
        return {
            "quota": f"{self.there.per_minute:,}",
            "rate": number(rate),
            "hour": f"{round(3_600 * rate):,}",
        }

    @property
    def names(self) -> str:
        return ", ".join(f"“{project}”" for project in self.others)


def page(request: HttpRequest) -> HttpResponse:
    project, now = current_project(request), timezone.now()
    context = {**site.each_context(request), "title": _("Quota"), "project": project}
    if project is not None:
        try:
            with slow_query_slot(project.pk), until(clock() + run_sizes.COUNTING_SECONDS):
                context |= _draw_page(request, project, now)
        except Busy:
            context["busy"] = True
    return TemplateResponse(request, "admin/campaigns/quota/quota.html", context)


def _draw_page(request: HttpRequest, project: Project, now: datetime) -> dict[str, Any]:
    zone = zone_of(request)  # the calendar's zone: its days link here
    day = day_of(request.GET.get("day")) or Span("week", now.date(), zone).local(now).date()
    span = Span("day", day, zone)
    mine = firebase_projects.for_project(project)
    siblings = [
        other
        for other in firebase_projects.among(projects(request))
        if project not in other.projects
    ]
    query = request.GET if _is_submitted(request) else None
    form = PlannerForm(query, project=project, zone=zone, now=now)
    # First, as counting all rows may use up all of the time.
    outcome = _outcome(form, mine, zone) if form.is_valid() else None
    rows = [
        _draw_project(firebase_project, project, span, now)
        for firebase_project in [mine, *siblings[: ROWS - 1]]
    ]
    return {
        "rows": rows, "levels": levels(), "more": max(0, len(siblings) - ROWS + 1), "zone": zone,
        "form": form, "zone_day": day, "earlier": day - A_DAY, "later": day + A_DAY,
        "outcome": outcome,
    }  # fmt: skip


def _is_submitted(request: HttpRequest) -> bool:
    return bool({"campaign", "messages", "at"} & request.GET.keys())


def _draw_project(firebase_project: Firebase, project: Project, span: Span, now: datetime) -> Row:
    coming = compute_planned(
        firebase_project, span.midnight(span.day), span.midnight(span.day + DAYS * A_DAY), now
    )
    days = [span.day + n * A_DAY for n in range(DAYS)]
    begins = [of_day(span.midnight(day), span.midnight(day + A_DAY)) for day in days]
    usage = hours_of(firebase_project, coming.runs, [at for starts in begins for at in starts], now)
    lines, first = [], 0
    for day, starts in zip(days, begins, strict=True):
        hours = usage.hours[first : first + len(starts)]
        first += len(starts)
        label = day_heading(day, span.local(now).date())
        lines.append((day, label, heat(hours, span.zone)))
    return Row(
        there=firebase_project,
        days=lines,
        planned=[
            _draw_planned(planned_run, project, span.zone)
            for planned_run in coming.runs
            if planned_run.is_within(begins[0][0], begins[-1][-1])
        ],
        more=coming.more,
        others=[sibling for sibling in firebase_project.projects if sibling.pk != project.pk],
        known=local(usage.as_of, span.zone, CLOCK),
    )


def _draw_planned(planned: Planned, project: Project, zone: str) -> dict[str, Any]:
    """A planned campaign. Of another project's, only its existence and times are shown."""
    mine = planned.campaign.project_id == project.pk
    return {
        "name": planned.campaign.name if mine else _("A campaign of another project"),
        "url": page_url(planned.run or planned.campaign) if mine else "",
        "under_way": planned.under_way,
        "begins": local(planned.at, zone, SHORT_DAY_AND_CLOCK),
        "ends": local(planned.ends_at, zone, SHORT_DAY_AND_CLOCK) if planned.ends_at else "–",
        "sent": planned.goes.sent if planned.goes else None,
        "exact": planned.asks is None or planned.asks.exact,
        "too_late": planned.goes.too_late if planned.goes else 0,
    }


def _outcome(form: PlannerForm, mine: Firebase, zone: str) -> dict[str, Any]:
    asks = form.asks(mine)
    if asks is None:
        return {"uncounted": True}
    campaign = form.cleaned_data.get("campaign")
    outcome = delays.with_another(asks, mine, form.now, of=campaign)
    return {
        "begins": local(asks.rules.start, zone, SHORT_DAY_AND_CLOCK),
        "ends": local(outcome.ends_at, zone, SHORT_DAY_AND_CLOCK) if outcome.ends_at else "–",
        "sent": outcome.goes.sent,
        "too_late": outcome.goes.too_late,
        "held_up": _describe_delay(outcome),
        "pushed": [
            _draw_planned(delayed.planned, form.project, zone)
            | {
                "then": local(delayed.ends_at, zone, SHORT_DAY_AND_CLOCK),
                "later": in_words(delayed.later),
                "fewer": delayed.fewer,
            }
            for delayed in outcome.pushed
        ],
    }


def _describe_delay(outcome: Outcome) -> str:
    """How long others delay it; empty if the delay is not worth mentioning."""
    if outcome.ends_at is None or outcome.alone_ends_at is None:
        return ""
    later = outcome.ends_at - outcome.alone_ends_at
    return in_words(later) if later >= delays.WORTH_SAYING else ""
