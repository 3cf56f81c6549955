"""How many a campaign is sent to is one number, wherever it is asked."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.planning.campaign import Campaign
from notifications.keys.credentials import ServiceAccount
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device, make_run
from tests.given.by_hand import work
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
A_DAY = timedelta(days=1)


@pytest.fixture
def crowd(project: Project) -> Project:
    """200 devices: 50 of people who unsubscribed, 20 of people who lack a city."""
    for number in range(200):
        known = {} if number in range(50, 70) else {"city": "Seoul"}
        named = {"external_id": f"p{number}", "attributes": known}
        make_device(make_contact(project, **named))
    noes = [ConsentAnswer(f"p{number}", EVERYTHING, False) for number in range(50)]
    record_answers(project, noes, source="api", by="key:abc", now=timezone.now())
    return project


def tomorrow() -> datetime:
    return (timezone.now() + A_DAY).replace(minute=0, second=0, microsecond=0)


def typed(at: datetime, **values: Any) -> dict[str, str]:
    return {
        "schedule_kind": "at",
        "timezone": "UTC",
        "at": f"{at:%Y-%m-%dT%H:%M}",
        **values,
    }


def make_timed(project: Project, at: datetime, **values: Any) -> Campaign:
    text = {"title": "Hi", "body": "{{ city }}"}
    asked = {"control_percent": 10, "schedule_kind": "at", "at": at, "timezone": "UTC"}
    return make_campaign(project, template=text, **asked, **values)


def test_when_review_calendar_launch_quota_and_api_say_the_same_number(
    desk: Desk, crowd: Project
) -> None:
    """200, without 20 of the control group; of the others, 50 and 20 of 200 are skipped."""
    at = tomorrow()
    campaign = make_timed(crowd, at)
    assert "for 117 devices, at" in text_of(
        desk.post("campaign_when", campaign=campaign.pk, **typed(at))
    )
    for page in ("campaign_review", "campaigns_campaign_launch"):
        assert "about 117 will be sent to." in desk.open(page, campaign.pk)
    caller = Caller(crowd)
    assert caller.get(f"campaigns/{campaign.pk}/check").json()["who"]["sent_to"] == 117
    asked = caller.get(f"quota?campaign={campaign.pk}").json()["another"]
    assert asked["messages"] == 117

    run = control.launch(campaign, by="user:alice", now=timezone.now())
    there = desk.open("campaigns_run_move", run.pk, day=at.date() + A_DAY, zone="UTC")
    assert "Sent to about 117 devices, as of now" in there
    planned = desk.open("campaigns_quota", day=at.date())
    assert re.search(r"Campaign \d+ [\w :]+ 117 Messages", planned)
    assert " 200 Messages" not in planned


def test_when_and_review_agree_on_caps(desk: Desk, crowd: Project, fcm: Fcm) -> None:
    crowd.cap_per_day = 1
    crowd.save()
    ServiceAccount.store(crowd, fcm.service_account)
    before = make_run(crowd, template={"title": "Hi", "body": "x"}, control_percent=60)
    work(before)
    at = timezone.now() + timedelta(hours=2)
    campaign = make_timed(crowd, at)
    review = desk.open("campaign_review", campaign.pk)
    found = re.search(r"about (\d+) will be sent to", review)
    assert found and "had enough messages" in review
    when = text_of(desk.post("campaign_when", campaign=campaign.pk, **typed(at)))
    assert f"for {found[1]} devices, at" in when


def test_who_promises_no_number_before_all_reasons_are_counted(desk: Desk, crowd: Project) -> None:
    campaign = make_timed(crowd, tomorrow())
    said = text_of(
        desk.post(
            "campaign_who",
            project=crowd.pk,
            audience_from="existing",
            audience=campaign.audience.pk,
        )
    )
    assert "200 devices; 50 will be skipped: unsubscribed." in said
    assert "will be sent to" not in said
