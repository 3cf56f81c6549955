"""The overview: what runs, what comes, what needs a person. Everything of all projects."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from campaigns import reports
from campaigns.admin.days import days_of
from campaigns.admin.live import COMING_BACK, LONGEST_TIMER, OVERDUE, pause_in_words, share
from campaigns.admin.quota import quotas
from campaigns.audience import Audience
from campaigns.campaign import Campaign
from campaigns.run import Run
from campaigns.schedule import Tick
from campaigns.template import Template
from notifications.admin.keyset import size_in_words
from notifications.contact import Contact
from notifications.device import Device
from notifications.moments import in_words, in_zone
from notifications.project import Project

SHOWN = 8
BEAT_IS_SILENT = timedelta(seconds=60)
DAY = timedelta(days=1)
STATE = Run.State


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's DASHBOARD_CALLBACK."""
    context |= picture(timezone.now())
    if not context["any_runs"]:
        context |= {
            "first_campaign": Campaign.objects.order_by("-pk").first(),
            "has_audience": Audience.objects.exists(),
            "has_template": Template.objects.exists(),
            "has_people": Contact.objects.exists(),
            "numbers": _numbers(),
        }
    return context


def picture(now: datetime) -> dict[str, Any]:
    runs = Run.objects.select_related("campaign", "project")
    moving = runs.filter(state__in=[STATE.PREPARING, STATE.SENDING], finished_at=None)
    running = list(moving.order_by("-pk")[:SHOWN])
    scheduled = list(runs.filter(state=STATE.SCHEDULED).order_by("scheduled_at")[:SHOWN])
    recent = runs.filter(state__in=[STATE.FINISHED, STATE.CANCELLED])
    zone = _zone()
    return {
        "running": [_running(run, now) for run in running],
        "scheduled": [_scheduled(run, now) for run in scheduled],
        "waiting": _needs_a_person(runs, now),
        "recent": recent.order_by("-pk")[:SHOWN],
        "any_runs": Run.objects.exists(),
        "silence": _silence(now),
        "days": days_of(Run.objects.all(), now, zone),
        "quotas": quotas(Project.objects.order_by("name"), now),
        "trigger": asks_again(running, scheduled, now),
        "zone": zone,
        "now": now,
    }


def needing_a_person() -> int:
    return _paused(Run.objects.all()).count()


def asks_again(running: list[Run], scheduled: list[Run], now: datetime) -> str:
    """While something is sent, every two seconds; else when something starts, or somebody looks."""
    if running:
        return "every 2s [document.visibilityState === 'visible']"
    due = [run.scheduled_at - now for run in scheduled if run.scheduled_at > now - OVERDUE]
    if not due:
        return COMING_BACK
    seconds = max(5, int(min(*due, LONGEST_TIMER).total_seconds()) + 2)
    return f"load delay:{seconds}s, {COMING_BACK}"


def _zone() -> str:
    """Whose midnight ends a day: the first project's, which is mostly the only one."""
    first = Project.objects.order_by("pk").first()
    return first.timezone if first else "UTC"


def _paused(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.filter(state=STATE.PAUSED, finished_at=None).order_by("-pk")


def _needs_a_person(runs: QuerySet[Run], now: datetime) -> list[dict[str, Any]]:
    """Paused with a cause; late in starting; ended with outcomes that nobody knows."""
    paused = [{"run": run, **pause_in_words(run)} for run in _paused(runs)[:SHOWN]]
    overdue = runs.filter(state=STATE.SCHEDULED, scheduled_at__lt=now - OVERDUE)
    late = [
        {
            "run": run,
            "cause": _("It was due %(ago)s ago and has not started.")
            % {"ago": in_words(now - run.scheduled_at)},
            "next_step": _("Check that the scheduler (“beat”) and a worker are running."),
        }
        for run in overdue.order_by("scheduled_at")[:SHOWN]
    ]
    ended = runs.filter(finished_at__gt=now - DAY, unknown__gt=0).order_by("-pk")
    unknown = [
        {
            "run": run,
            "query": "status=unknown",
            "cause": _("It ended with %(count)s unknown outcomes.") % {"count": f"{run.unknown:,}"},
            "next_step": _("Look who they are; nobody knows whether their phones rang."),
        }
        for run in ended[:SHOWN]
    ]
    return [*paused, *late, *unknown]


def _running(run: Run, now: datetime) -> dict[str, Any]:
    progress = reports.progress(run, now=now)
    return {
        "run": run,
        "progress": progress,
        "share": share(progress.totals.settled, progress.totals.planned),
        "left": progress.eta_at - now if progress.eta_at else None,
    }


def _scheduled(run: Run, now: datetime) -> dict[str, Any]:
    """When, on the clock it was planned by, and on the project's if that is another one."""
    zones = dict.fromkeys([run.campaign.timezone, run.project.timezone])
    left = run.scheduled_at - now
    return {
        "run": run,
        "clocks": [in_zone(run.scheduled_at, zone) for zone in zones],
        "left": in_words(left) if left > timedelta(0) else "",
    }


def _silence(now: datetime) -> timedelta | None:
    """How long beat has been silent, when that is too long. Without it nothing scheduled starts."""
    age = Tick.age(now)
    return age if age is not None and age > BEAT_IS_SILENT else None


def _numbers() -> list[tuple[str, str, str]]:
    people = size_in_words(Contact.objects.all(), whole_table=True)
    devices = size_in_words(Device.objects.all(), whole_table=True)
    return [
        (_("People"), people, _("known to your apps")),
        (_("Devices"), devices, _("with an address")),
    ]
