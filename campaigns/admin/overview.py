"""The overview: what runs, what comes, what needs a person. Everything of all projects."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone

from campaigns import reports
from campaigns.admin.live import pause_in_words, share
from campaigns.audience import Audience
from campaigns.campaign import Campaign
from campaigns.run import Run
from campaigns.schedule import Tick
from campaigns.template import Template
from notifications.admin.keyset import size_in_words
from notifications.contact import Contact
from notifications.device import Device
from notifications.project import Project

SHOWN = 8
BEAT_IS_SILENT = timedelta(seconds=60)
DAY = timedelta(days=1)


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's DASHBOARD_CALLBACK."""
    context |= picture(timezone.now())
    if not context["any_runs"]:
        context |= {
            "first_campaign": Campaign.objects.order_by("-pk").first(),
            "has_audience": Audience.objects.exists(),
            "has_template": Template.objects.exists(),
            "has_people": Contact.objects.exists(),
        }
    return context


def picture(now: datetime) -> dict[str, Any]:
    runs = Run.objects.select_related("campaign", "project")
    state = Run.State
    moving = runs.filter(state__in=[state.PREPARING, state.SENDING], finished_at=None)
    recent = runs.filter(state__in=[state.FINISHED, state.CANCELLED]).order_by("-pk")[:SHOWN]
    return {
        "running": [_running(run, now) for run in moving.order_by("-pk")[:SHOWN]],
        "scheduled": runs.filter(state=state.SCHEDULED).order_by("scheduled_at")[:SHOWN],
        "waiting": [{"run": run, **pause_in_words(run)} for run in _paused(runs)[:SHOWN]],
        "recent": recent,
        "any_runs": Run.objects.exists(),
        "silence": _silence(now),
        "numbers": _numbers(now),
        "now": now,
    }


def needing_a_person() -> int:
    return _paused(Run.objects.all()).count()


def _paused(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.filter(state=Run.State.PAUSED, finished_at=None).order_by("-pk")


def _running(run: Run, now: datetime) -> dict[str, Any]:
    progress = reports.progress(run, now=now)
    return {
        "run": run,
        "progress": progress,
        "share": share(progress.totals.settled, progress.totals.planned),
        "left": progress.eta_at - now if progress.eta_at else None,
    }


def _silence(now: datetime) -> timedelta | None:
    """How long beat has been silent, when that is too long. Without it nothing scheduled starts."""
    age = Tick.age(now)
    return age if age is not None and age > BEAT_IS_SILENT else None


def _numbers(now: datetime) -> list[tuple[str, str, str]]:
    today = Run.objects.filter(started_at__gte=now - DAY).aggregate(
        accepted=Sum("accepted"), planned=Sum("planned")
    )
    return [
        ("People", size_in_words(Contact.objects.all(), whole_table=True), "known to your apps"),
        ("Devices", size_in_words(Device.objects.all(), whole_table=True), "with an address"),
        ("Accepted", f"{today['accepted'] or 0:,}", "by FCM, in runs of the last 24 hours"),
        ("Projects", f"{Project.objects.count():,}", "with people of their own"),
    ]
