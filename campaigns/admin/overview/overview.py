"""Overview: what is running, what is scheduled, and open tasks, in the chosen project."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns.admin.overview.daily_bars import days_of
from campaigns.admin.overview.open_tasks import find_open_tasks, paused
from campaigns.admin.overview.people import people
from campaigns.alerts.pages import alerts_of_overview
from campaigns.audiences.audience import Audience
from campaigns.engagement.funnel import StepCount, opened
from campaigns.figures.quota import busiest, quotas
from campaigns.planning.campaign import Campaign
from campaigns.results import reports, why_this_rate
from campaigns.runs.messages.pages.numbers import sends_messages, stand_of, waits
from campaigns.runs.pages.live import OVERDUE
from campaigns.runs.run import Run
from campaigns.runs.sums import of_how_many
from campaigns.runs.tick import Tick
from campaigns.texts.template import Template
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.keyset import size_in_words
from notifications.admin.ui.polling import COMING_BACK, LONGEST_TIMER
from notifications.people import device_health
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.figures import midnight
from notifications.people.project import Project
from notifications.values.moments import in_words, in_zone
from notifications.values.shares import share, width

RUNS_SHOWN = 8
BEAT_IS_SILENT = timedelta(seconds=60)
STATE = Run.State


@dataclass(frozen=True)
class Recent:
    """An ended run and its outcome. `opened` may be another step of the funnel, too."""

    run: Run
    asked: int
    opened: StepCount


def urls() -> list[URLPattern]:
    view = site.admin_view
    return [
        path("overview/", view(live), name="campaigns_overview"),
        path("overview/health/", view(health), name="overview_health"),
        path("overview/people/", view(people), name="overview_people"),
    ]


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the overview's context. This is Unfold's DASHBOARD_CALLBACK."""
    project = current_project(request)
    context |= picture(project, timezone.now())
    if not context["any_runs"]:
        context |= {
            "first_campaign": Campaign.objects.filter(project=project).order_by("-pk").first(),
            "has_audience": Audience.objects.filter(project=project).exists(),
            "has_template": Template.objects.filter(project=project).exists(),
            "has_people": Contact.objects.filter(project=project).exists(),
            "has_project": project is not None,
            "demo": "manage.py demo",
            "numbers": _numbers(project),
        }
    return context


def live(request: HttpRequest) -> HttpResponse:
    return render(
        request, "admin/overview_live.html", picture(current_project(request), timezone.now())
    )


def health(request: HttpRequest) -> HttpResponse:
    """The health of devices, loaded separately: the overview must not wait for it."""
    project = current_project(request)
    figures = device_health.health(project.pk if project else None, timezone.now())
    return render(request, "admin/overview_health.html", figures)


def picture(project: Project | None, now: datetime) -> dict[str, Any]:
    of_project = Run.objects.filter(project=project)
    runs = of_project.select_related("campaign", "project")
    moving = runs.filter(state__in=[STATE.PREPARING, STATE.SENDING], finished_at=None)
    running = list(moving.order_by("-pk")[:RUNS_SHOWN])
    scheduled = list(runs.filter(state=STATE.SCHEDULED).order_by("scheduled_at")[:RUNS_SHOWN])
    recent = runs.filter(state__in=[STATE.FINISHED, STATE.CANCELLED])
    zone = project.timezone if project else "UTC"  # whose midnight ends a day
    messages = stand_of(project, now) if project and sends_messages(project) else None
    return {
        "project": project,
        "running": [_describe_running(run, now) for run in running],
        "scheduled": [_describe_scheduled(run, now) for run in scheduled],
        "waiting": find_open_tasks(project, now),
        **alerts_of_overview(project),
        "recent": _describe_recent(list(recent.order_by("-pk")[:RUNS_SHOWN])),
        "any_runs": of_project.exists(),
        "silence": _silence(now),
        "days": days_of(project, now) if project else None,
        "quotas": quotas([project] if project else [], now),
        "busiest": busiest(project, midnight(zone, now)) if project else None,
        "message_numbers": messages,
        "trigger": asks_again(running, scheduled, now, messages_wait=waits(messages)),
        "zone": zone,
        "now": now,
    }


def needing_a_person(project: Project | None) -> int:
    return paused(project).count()


def asks_again(
    running: list[Run], scheduled: list[Run], now: datetime, *, messages_wait: bool = False
) -> str:
    """When to refresh: every few seconds during sends; else at the next start, or on return."""
    if running:
        return "every 2s"
    if messages_wait:
        return "every 5s"
    due = [run.scheduled_at - now for run in scheduled if run.scheduled_at > now - OVERDUE]
    if not due:
        return COMING_BACK
    seconds = max(5, int(min(*due, LONGEST_TIMER).total_seconds()) + 2)
    return f"load delay:{seconds}s, {COMING_BACK}"


def _describe_running(run: Run, now: datetime) -> dict[str, Any]:
    progress = reports.progress(run, now=now)
    return {
        "run": run,
        "progress": progress,
        "share": share(progress.totals.settled, progress.totals.planned),
        "width": width(progress.totals.settled, progress.totals.planned),
        "left": progress.eta_at - now if progress.eta_at else None,
        "away": pace.words if (pace := why_this_rate.beside_the_rate(run, now)).away else "",
    }


def _describe_recent(runs: list[Run]) -> list[Recent]:
    opened_by_run = opened(runs)
    return [
        Recent(run, of_how_many(run.state, run.planned or 0, run.skipped), opened_by_run[run.pk])
        for run in runs
    ]


def _describe_scheduled(run: Run, now: datetime) -> dict[str, Any]:
    """A scheduled run, with its time in the campaign's zone, and in the project's if it differs."""
    zones = dict.fromkeys([run.campaign.timezone, run.project.timezone])
    remaining = run.scheduled_at - now
    return {
        "run": run,
        "clocks": [in_zone(run.scheduled_at, zone) for zone in zones],
        "left": in_words(remaining) if remaining > timedelta(0) else "",
    }


def _silence(now: datetime) -> timedelta | None:
    """How long beat has been silent, if too long. Without beat nothing scheduled starts."""
    age = Tick.age(now)
    return age if age is not None and age > BEAT_IS_SILENT else None


def _numbers(project: Project | None) -> list[tuple[str, str, str]]:
    people = size_in_words(Contact.objects.filter(project=project), unfiltered=True)
    devices = size_in_words(Device.objects.filter(project=project), unfiltered=True)
    return [
        (_("People"), people, _("known to your apps")),
        (_("Devices"), devices, _("with an address")),
    ]
