"""Beat starts a series, plans what follows, and starts what was moved; with real processes."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.planning import moving
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_people
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


@pytest.fixture
def project(transactional_db: None, project: Project) -> Project:
    return project


@pytest.fixture
def minute() -> datetime:
    """The one that just began, so that an occurrence at its start is due."""
    return timezone.now().replace(second=0, microsecond=0)


def daily(project: Project, first: datetime) -> tuple[Campaign, Run]:
    make_people(project, 3)
    campaign = make_campaign(project, schedule_kind="recurring", repeat="daily", at=first)
    run = control.launch(campaign, by="user:alice", now=min(first, timezone.now()) - DAY / 2)
    return campaign, run


def test_beat_sends_todays_run_and_makes_tomorrows_which_waits(
    beat: Workers, project: Project, fcm: Fcm, minute: datetime
) -> None:
    campaign, today = daily(project, minute)

    eventually("a run ends", lambda: campaign.runs.filter(state="finished").exists())
    eventually("the next one is made", lambda: campaign.runs.count() == 2)

    today.refresh_from_db()
    tomorrow = campaign.runs.exclude(pk=today.pk).get()
    assert (today.state, today.accepted) == ("finished", 3)
    assert (tomorrow.state, tomorrow.scheduled_at) == ("scheduled", minute + DAY)
    assert (tomorrow.content, tomorrow.launched_by) == (today.content, "user:alice")
    assert len(fcm.witness()) == 3


def test_an_occurrence_that_was_moved_ahead_is_sent_once_and_the_series_goes_on(
    beat: Workers, project: Project, fcm: Fcm, minute: datetime
) -> None:
    campaign, run = daily(project, minute + DAY / 2)
    soon = timezone.now() + timedelta(seconds=2)

    moving.move(run, to=soon, was=run.scheduled_at, by="user:alice", now=timezone.now())
    eventually("a run ends", lambda: campaign.runs.filter(state="finished").exists())

    run.refresh_from_db()
    assert (run.state, run.accepted) == ("finished", 3)
    eventually("the next run is made", lambda: campaign.runs.count() == 2)
    following = campaign.runs.exclude(pk=run.pk).get()
    assert following.scheduled_at == minute + DAY / 2 + DAY
    assert len(fcm.witness()) == 3
