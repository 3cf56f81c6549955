"""Two people on one campaign: nobody's work is lost, and nobody launches what they did not see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from campaigns.planning.campaign import Campaign
from campaigns.runs.policy import GUARDED
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_campaign, make_people, make_scheduled_run
from tests.given.campaign_form import CHANGE, form, seen_by
from tests.given.settings import otherwise

pytestmark = pytest.mark.django_db


def test_the_second_to_save_sees_who_saved_what_and_loses_nothing(
    desk: Desk, bob: Desk, project: Project
) -> None:
    campaign = make_campaign(project, name="Spring", timezone="Asia/Seoul")
    seen = seen_by(desk, campaign)
    bob.post(CHANGE, campaign.pk, **form(campaign, rate_per_second=50, ttl_seconds="2 h"))

    mine = form(campaign, name="Spring for all", ttl_seconds="3 h", seen=seen)
    reply = desk.post(CHANGE, campaign.pk, **mine)
    campaign.refresh_from_db()
    assert (campaign.name, campaign.rate_per_second) == ("Spring", 50)
    assert "bob saved this campaign while you were editing" in text_of(reply)
    assert "Their changes were kept: At most, per second." in text_of(reply)
    assert "Expires after: yours is kept, theirs was “2 h”" in text_of(reply)
    page = reply.content.decode()
    assert 'value="Spring for all"' in page and 'value="50"' in page and 'value="3 h"' in page

    again = unescape(page.partition('name="seen" value="')[2].partition('"')[0])
    desk.post(CHANGE, campaign.pk, **{**mine, "rate_per_second": 50, "seen": again})
    campaign.refresh_from_db()
    assert (campaign.name, campaign.rate_per_second) == ("Spring for all", 50)
    assert campaign.ttl_seconds == 3 * 3600


def test_a_text_written_in_place_is_not_written_over_unseen(
    desk: Desk, bob: Desk, project: Project
) -> None:
    campaign = make_campaign(project, name="Spring", template={"name": "Spring"})
    text = campaign.template
    mine = {"template_from": "make", "title": text.title, "body": "Mine", "image": "", "link": ""}
    seen = seen_by(desk, campaign)
    bob.post("campaigns_template_change", text.pk, name=text.name, title="His", body="His too")

    reply = desk.post(CHANGE, campaign.pk, **form(campaign, seen=seen, **mine))
    text.refresh_from_db()
    assert (text.title, text.body) == ("His", "His too")
    said = text_of(reply)
    assert "bob saved" in said and "Their changes were kept: Title." in said
    assert "Text: yours is kept, theirs was “His too”" in said


def test_nobody_is_named_while_one_works_alone(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project, at=timezone.now() + timedelta(days=9), schedule_kind="at")
    values = {"schedule_kind": "at", "at": "2031-01-01T09:00", "seen": seen_by(desk, campaign)}
    desk.post(CHANGE, campaign.pk, **form(campaign, **values))
    campaign.refresh_from_db()
    assert campaign.at is not None and campaign.at.year == 2031


# --- Launching what was looked at -----------------------------------------------------------------


def looked_at(reply: Any) -> str:
    return unescape(reply.content.decode().partition('name="looked_at" value="')[2].split('"')[0])


def test_a_launch_of_something_that_changed_since_asks_to_look_again(
    desk: Desk, bob: Desk, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    url = f"/admin/campaigns/campaign/{campaign.pk}/launch/"
    seen = looked_at(desk.client.get(url))
    template = campaign.template
    bob.post("campaigns_template_change", template.pk, name=template.name, title="Buy!", body="B")

    refused = desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=seen)
    assert not Run.objects.exists()
    said = text_of(refused)
    assert "bob changed the text after you opened this page." in said
    assert "Buy!" in said

    again = looked_at(refused)
    desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=again)
    assert Run.objects.get().content["title"] == "Buy!"


def test_an_audience_that_changed_since_it_was_looked_at_asks_to_look_again(
    desk: Desk, bob: Desk, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    audience = campaign.audience
    url = f"/admin/campaigns/campaign/{campaign.pk}/launch/"
    seen = looked_at(desk.client.get(url))
    narrower = '{"field": "attributes.first_name", "op": "eq", "value": "Ada"}'
    bob.save("campaigns_audience_change", audience.pk, name=audience.name, rules=narrower)

    said = text_of(desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=seen))
    assert "bob changed the audience after you opened this page." in said
    assert "first name is Ada" in said or "first_name is Ada" in said
    assert not Run.objects.exists()


@pytest.mark.parametrize("field", [*GUARDED, "name"])
def test_any_setting_that_changed_since_it_was_looked_at_asks_to_look_again(
    desk: Desk, project: Project, field: str
) -> None:
    make_people(project, 1)
    times = {"at": datetime(2030, 1, 1, tzinfo=UTC), "repeat": "weekly"}
    campaign = make_campaign(project, schedule_kind="recurring", **times)
    seen = looked_at(desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/launch/"))
    other = "Tea" if field == "name" else otherwise(field, project).kept
    Campaign.objects.update(**{field: other})

    said = text_of(desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=seen))

    assert "changed the settings after you opened this page" in said
    assert not Run.objects.exists()


def test_the_dialog_says_what_changed_since_the_review_was_read(
    desk: Desk, bob: Desk, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    review = desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/review/").content.decode()
    link = unescape(review.partition('id="launch"')[2].partition('hx-get="')[2].split('"')[0])
    assert "look again" not in text_of(desk.client.get(link))

    template = campaign.template
    bob.post("campaigns_template_change", template.pk, name=template.name, title="Buy!", body="B")
    dialog = text_of(desk.client.get(link))
    assert "bob changed the text after you opened this page." in dialog
    assert "check it again before you launch" in dialog and "Buy!" in dialog


def test_a_launch_of_what_was_looked_at_goes_out(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    seen = looked_at(desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/launch/"))
    desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=seen)
    assert Run.objects.count() == 1


def test_an_audience_emptied_meanwhile_is_not_launched(desk: Desk, project: Project) -> None:
    [device] = make_people(project, 1)
    campaign = make_campaign(project)
    seen = looked_at(desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/launch/"))
    device.delete()
    refused = desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=seen)
    assert "Nobody can be reached" in text_of(refused)
    assert not Run.objects.exists()


def test_a_rule_on_an_attribute_that_vanished_says_which_and_what_to_do(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    gone = {"field": "attributes.vip", "op": "eq", "value": True}
    nobody = make_campaign(project, audience=make_audience(project, rules=gone))
    assert "Nobody can be reached" in desk.open("campaign_review", nobody.pk)
    for page in ("campaign_review", "campaigns_campaign_launch"):
        said = desk.open(page, nobody.pk)
        assert "No person has the attribute “vip”" in said and "remove the rule" in said

    # Worse: it kept people out, and now keeps out nobody.
    everybody = make_campaign(project, audience=make_audience(project, rules={"not": gone}))
    for page in ("campaign_review", "campaigns_campaign_launch"):
        assert "No person has the attribute “vip”" in desk.open(page, everybody.pk)


@pytest.mark.parametrize("nonsense", ["[" * 5_000 + "]" * 5_000, "9" * 5_000, '{"was": [', "7"])
def test_what_no_page_of_ours_would_send_is_no_memory_of_anything(
    desk: Desk, project: Project, nonsense: str
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project, name="Spring", timezone="Asia/Seoul")
    reply = desk.post(CHANGE, campaign.pk, **form(campaign, name="Summer", seen=nonsense))
    assert reply.status_code == 302
    assert Campaign.objects.get().name == "Summer"
    desk.confirm("campaigns_campaign_launch", campaign.pk, looked_at=nonsense)
    assert Run.objects.get().campaign == campaign


# --- A person and a run that waits ----------------------------------------------------------------


def test_the_time_of_a_waiting_run_is_not_edited_past_it_on_the_page(
    desk: Desk, project: Project
) -> None:
    run = make_scheduled_run(project, datetime(2031, 5, 7, 0, 0, 30, tzinfo=UTC))
    campaign = run.campaign
    shown = form(campaign, schedule_kind="at", at="2031-05-07T09:00")
    assert desk.post(CHANGE, campaign.pk, **{**shown, "name": "Other"}).status_code == 302
    campaign.refresh_from_db()
    assert (campaign.name, campaign.at) == ("Other", run.scheduled_at), "to the second"
    refused = text_of(desk.post(CHANGE, campaign.pk, **{**shown, "at": "2031-05-08T09:00"}))
    assert f"It was launched as run {run.pk}. Move that run, or cancel it;" in refused
    campaign.refresh_from_db()
    assert campaign.at == run.scheduled_at
