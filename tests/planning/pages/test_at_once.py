"""A page is still open while a colleague, or a program, saves the same campaign or its text."""

from __future__ import annotations

import pytest

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.at_once import at_once
from tests.given.builders import make_campaign
from tests.given.campaign_form import CHANGE, form, seen_by

pytestmark = pytest.mark.django_db


def test_a_colleague_who_saved_nothing_new_is_in_nobodys_way(
    desk: Desk, bob: Desk, project: Project
) -> None:
    campaign = make_campaign(project, name="Spring", timezone="Asia/Seoul")
    seen = seen_by(desk, campaign)
    bob.post(CHANGE, campaign.pk, **form(campaign))
    reply = desk.post(CHANGE, campaign.pk, **form(campaign, name="Summer", seen=seen))
    assert reply.status_code == 302
    assert Campaign.objects.get().name == "Summer"


def test_two_who_write_the_same_are_in_nobodys_way(desk: Desk, bob: Desk, project: Project) -> None:
    campaign = make_campaign(project, name="Spring", timezone="Asia/Seoul")
    seen = seen_by(desk, campaign)
    bob.post(CHANGE, campaign.pk, **form(campaign, name="Summer"))
    mine = form(campaign, name="Summer", rate_per_second=9, seen=seen)
    assert desk.post(CHANGE, campaign.pk, **mine).status_code == 302
    assert Campaign.objects.values_list("name", "rate_per_second").get() == ("Summer", 9)


def test_a_program_that_changed_it_meanwhile_is_named(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project, name="Spring", timezone="Asia/Seoul")
    seen = seen_by(desk, campaign)
    key = Caller(project)
    key.patch(f"campaigns/{campaign.pk}", {"rate_per_second": 50})
    reply = desk.post(CHANGE, campaign.pk, **form(campaign, name="Summer", seen=seen))
    said = text_of(reply)
    assert f"the API key {key.row.prefix}… saved this campaign while you were editing" in said
    assert "Their changes were kept: At most, per second." in said
    assert Campaign.objects.values_list("name", "rate_per_second").get() == ("Spring", 50)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_the_second_sees_what_the_first_saved(
    desk: Desk, bob: Desk, project: Project
) -> None:
    campaign = make_campaign(project, name="Spring", timezone="Asia/Seoul")
    mine = form(campaign, name="Summer", seen=seen_by(desk, campaign))
    reply = at_once(
        first=lambda: bob.post(CHANGE, campaign.pk, **form(campaign, name="Autumn")),
        second=lambda: desk.post(CHANGE, campaign.pk, **mine),
    )
    assert "Name: yours is kept, theirs was “Autumn”" in text_of(reply)
    assert Campaign.objects.get().name == "Autumn"


@pytest.mark.django_db(transaction=True)
def test_a_text_of_its_own_that_is_being_saved_elsewhere_is_waited_for(
    desk: Desk, bob: Desk, project: Project
) -> None:
    campaign = make_campaign(project, name="Spring", template={"name": "Spring"})
    text = campaign.template
    mine = {"template_from": "make", "title": text.title, "body": "Mine", "image": "", "link": ""}
    posted = form(campaign, seen=seen_by(desk, campaign), **mine)
    his = {"name": text.name, "title": "His", "body": "His too"}
    reply = at_once(
        first=lambda: bob.post("campaigns_template_change", text.pk, **his),
        second=lambda: desk.post(CHANGE, campaign.pk, **posted),
    )
    assert "Text: yours is kept, theirs was “His too”" in text_of(reply)
    text.refresh_from_db()
    assert (text.title, text.body) == ("His", "His too")
