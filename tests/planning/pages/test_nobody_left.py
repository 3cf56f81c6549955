"""A campaign that would be sent to nobody is not launched from a page, and says so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
NIGHT = datetime(2031, 5, 7, 18, tzinfo=UTC)  # 03:00 in Seoul
SAID = "It would be sent to nobody: all of its devices would be skipped."


def test_a_campaign_whose_people_are_all_out_offers_no_launch(desk: Desk, project: Project) -> None:
    for _ in range(3):
        make_device(make_contact(project, timezone="Asia/Seoul", subscribed=False))
    campaign = make_campaign(project, schedule_kind="at", at=NIGHT, timezone="Asia/Seoul")

    review = desk.open("campaign_review", campaign.pk)
    assert SAID in review and "Choose another audience" in review
    assert "Launch …" not in review and "on their own clocks" not in review
    dialog = text_of(desk.confirm("campaigns_campaign_launch", campaign.pk))
    assert SAID in dialog
    assert not Run.objects.exists()
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert SAID in [warning["message"] for warning in told["warnings"]]


def test_a_campaign_with_one_reader_left_is_launched(desk: Desk, project: Project) -> None:
    make_device(make_contact(project, subscribed=False))
    make_device(make_contact(project))
    campaign = make_campaign(project)
    review = desk.open("campaign_review", campaign.pk)
    assert SAID not in review and "Launch …" in review
