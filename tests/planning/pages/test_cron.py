"""A campaign that repeats by five fields, on its pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_people
from tests.given.campaign_form import CHANGE, form

pytestmark = pytest.mark.django_db
MONDAYS = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 9 * * mon",
           "at": "2031-01-01T00:00"}  # fmt: skip


def when(desk: Desk, **values: Any) -> str:
    return text_of(desk.post("campaign_when", **{**MONDAYS, "timezone": "Asia/Seoul", **values}))


def test_step_when_shows_the_next_ten_while_it_is_typed(desk: Desk) -> None:
    shown = when(desk)
    assert "6 Jan 2031, 09:00 Asia/Seoul" in shown
    assert "10 Mar 2031, 09:00 Asia/Seoul and so on" in shown
    assert "13 Jan 2031, 09:00" not in when(desk, days_off="2031-01-13")
    said = "hour: “24” is none; write a number from 0 to 23."
    assert said in when(desk, cron="0 24 * * *")
    assert "Write five fields" in when(desk, cron="")


def test_it_is_saved_launched_and_said_in_words(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    refused = desk.save(CHANGE, campaign.pk, **form(campaign, **{**MONDAYS, "cron": "9 * *"}))
    assert "Write five fields" in refused
    desk.post(CHANGE, campaign.pk, **form(campaign, **MONDAYS, every="3", on_days="workdays"))
    campaign.refresh_from_db()
    assert (campaign.cron, campaign.every, campaign.on_days) == ("0 9 * * mon", 1, "")
    assert "By cron “0 9 * * mon”" in desk.open("campaign_review", campaign.pk)
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    run = Run.objects.get()
    assert run.scheduled_at == datetime.fromisoformat("2031-01-06T09:00+09:00")
    said = "Repeats by cron “0 9 * * mon”, on the clocks of Asia/Seoul, until somebody stops it."
    assert said in desk.open("campaigns_run_change", run.pk)
    engine.sweep(run.scheduled_at)
    second = Run.objects.latest("pk")
    assert second.scheduled_at == run.scheduled_at + timedelta(days=7)


def test_another_rhythm_empties_it(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    desk.post(CHANGE, campaign.pk, **form(campaign, **MONDAYS))
    desk.post(CHANGE, campaign.pk, **form(campaign, **{**MONDAYS, "repeat": "daily"}))
    campaign.refresh_from_db()
    assert (campaign.repeat, campaign.cron) == ("daily", "")
    assert campaign.coming(timezone.now(), 1) == [Campaign.objects.get().at]
