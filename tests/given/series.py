"""A campaign that is sent every day."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from campaigns import control
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from tests.given.builders import make_campaign, make_people, make_project

DAY = timedelta(days=1)


def make_series(first: datetime) -> Campaign:
    project = make_project()
    make_people(project, 2)
    return make_campaign(
        project, name="Daily", schedule_kind="recurring", repeat="daily", at=first, timezone="UTC"
    )


def launch(campaign: Campaign, now: datetime | None = None) -> Run:
    return control.launch(campaign, by="user:alice", now=now or timezone.now())


def runs() -> list[tuple[datetime, str]]:
    found = Run.objects.order_by("scheduled_at", "pk")
    return list(found.values_list("scheduled_at", "state"))
