"""A goal whose names nobody's app tells is spoken of before the launch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_people
from tests.given.campaign_form import goal_form

pytestmark = pytest.mark.django_db
NOBODY = "The goal waits for “bougth”, and nobody has done that so far."
NOTHING = "The goal sums up “prize”, and no recent “bought” has that."
NO_NUMBER = "The goal sums up “colour”, and that is a number in no recent “bought”."


@pytest.fixture
def shop(project: Project) -> Project:
    make_people(project, 2)
    ada, at = make_contact(project).external_id, timezone.now() - timedelta(days=1)
    told: list[dict[str, Any]] = [{"price": 5, "colour": "red"}, {"price": "5"}, {}]
    assert not write(project.pk, [Event(ada, "bought", at, one) for one in told])
    return project


@pytest.mark.parametrize(
    ("event", "value", "said"),
    [
        ("bougth", "", f"{NOBODY} Is “bought” meant?"),
        ("reviewed", "price", "“reviewed”, and nobody has done that so far. Check the name."),
        ("bought", "prize", f"{NOTHING} Is “price” meant?"),
        ("bought", "colour", NO_NUMBER),
        ("bought", "price", ""),
        ("bought", "", ""),
        ("", "prize", ""),
    ],
)
def test_the_review_the_dialog_and_the_api_speak_of_a_name_that_nobody_tells(
    desk: Desk, shop: Project, event: str, value: str, said: str
) -> None:
    campaign = make_campaign(shop, goal_event=event, goal_value=value)
    for page in ("campaign_review", "campaigns_campaign_launch"):
        text = desk.open(page, campaign.pk)
        assert said in text
        if not said:
            assert "The goal waits for" not in text and "The goal sums up" not in text
    warned = Caller(shop).get(f"campaigns/{campaign.pk}/check").json()["warnings"]
    goals = [one["message"] for one in warned if one["code"].startswith("no_such_")]
    assert len(goals) == bool(said) and all(said in one for one in goals)


def test_a_goal_that_is_emptied_takes_its_value_along(desk: Desk, shop: Project) -> None:
    """Under another event it would be summed up, and nobody had asked for that."""
    campaign = make_campaign(shop, goal_event="bought", goal_value="price")
    given = goal_form(campaign, goal_event="", goal_value="price", goal_after="opened")
    assert desk.post("campaigns_campaign_change", campaign.pk, **given).status_code == 302
    campaign.refresh_from_db()
    assert (campaign.goal_event, campaign.goal_value) == ("", "")
    assert campaign.goal_within_seconds == 86_400
