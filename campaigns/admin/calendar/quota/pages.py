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

from campaigns.admin.calendar.quota.hourly_heatmap import Heat, heat, levels
from campaigns.admin.calendar.quota.planner_form import PlannerForm
from campaigns.admin.calendar.span import Span, day_of, spoken, zone_of
from campaigns.figures.hours import hours_of, of_day
from campaigns.planning.course.forecast import number
from campaigns.planning.quota import delays, firebase, sizes
from campaigns.planning.quota.delays import Outcome
from campaigns.planning.quota.firebase import Firebase
from campaigns.planning.quota.planned import Planned, compute_planned
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
        return ", ".join(f"“{one}”" for one in self.others)


def page(request: HttpRequest) -> HttpResponse:
    project, now = current_project(request), timezone.now()
    context = {**site.each_context(request), "title": _("Quota"), "project": project}
    if project is not None:
        try:
            with slow_query_slot(project.pk), until(clock() + sizes.COUNTING_SECONDS):
                context |= _shown(request, project, now)
        except Busy:
            context["busy"] = True
    return TemplateResponse(request, "admin/campaigns/quota/quota.html", context)


def _shown(request: HttpRequest, project: Project, now: datetime) -> dict[str, Any]:
    zone = zone_of(request)  # the calendar's zone: its days link here
    day = day_of(request.GET.get("day")) or Span("week", now.date(), zone).local(now).date()
    span = Span("day", day, zone)
    mine = firebase.for_project(project)
    known = [one for one in firebase.among(projects(request)) if project not in one.projects]
    given = request.GET if _is_asked(request) else None
    form = PlannerForm(given, project=project, zone=zone, now=now)
    # First, as counting all rows may use up all of the time.
    outcome = _outcome(form, mine, zone) if form.is_valid() else None
    rows = [_row(there, project, span, now) for there in [mine, *known[: ROWS - 1]]]
    return {
        "rows": rows, "levels": levels(), "more": max(0, len(known) - ROWS + 1), "zone": zone,
        "form": form, "zone_day": day, "earlier": day - A_DAY, "later": day + A_DAY,
        "outcome": outcome,
    }  # fmt: skip


def _is_asked(request: HttpRequest) -> bool:
    return bool({"campaign", "messages", "at"} & request.GET.keys())


def _row(there: Firebase, project: Project, span: Span, now: datetime) -> Row:
    coming = compute_planned(
        there, span.midnight(span.day), span.midnight(span.day + DAYS * A_DAY), now
    )
    days = [span.day + n * A_DAY for n in range(DAYS)]
    begins = [of_day(span.midnight(day), span.midnight(day + A_DAY)) for day in days]
    found = hours_of(there, coming.runs, [at for each in begins for at in each], now)
    lines, first = [], 0
    for day, each in zip(days, begins, strict=True):
        hours = found.hours[first : first + len(each)]
        first += len(each)
        said = spoken(day, span.local(now).date())
        lines.append((day, said, heat(hours, span.zone)))
    return Row(
        there=there,
        days=lines,
        planned=[
            _planned(one, project, span.zone)
            for one in coming.runs
            if one.is_within(begins[0][0], begins[-1][-1])
        ],
        more=coming.more,
        others=[one for one in there.projects if one.pk != project.pk],
        known=local(found.as_of, span.zone, CLOCK),
    )


def _planned(one: Planned, project: Project, zone: str) -> dict[str, Any]:
    """A planned campaign. Of another project's, only its existence and times are shown."""
    mine = one.campaign.project_id == project.pk
    return {
        "name": one.campaign.name if mine else _("A campaign of another project"),
        "url": page_url(one.run or one.campaign) if mine else "",
        "under_way": one.under_way,
        "begins": local(one.at, zone, SHORT_DAY_AND_CLOCK),
        "ends": local(one.ends_at, zone, SHORT_DAY_AND_CLOCK) if one.ends_at else "–",
        "sent": one.goes.sent if one.goes else None,
        "exact": one.asks is None or one.asks.exact,
        "too_late": one.goes.too_late if one.goes else 0,
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
        "held_up": _held_up(outcome),
        "pushed": [
            _planned(one.planned, form.project, zone)
            | {
                "then": local(one.ends_at, zone, SHORT_DAY_AND_CLOCK),
                "later": in_words(one.later),
                "fewer": one.fewer,
            }
            for one in outcome.pushed
        ],
    }


def _held_up(outcome: Outcome) -> str:
    """How long others delay it; empty if the delay is not worth mentioning."""
    if outcome.ends_at is None or outcome.alone_ends_at is None:
        return ""
    later = outcome.ends_at - outcome.alone_ends_at
    return in_words(later) if later >= delays.WORTH_SAYING else ""
