"""A campaign in steps: each save keeps a draft, text and audience are made in place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_template,
)
from tests.given.campaign_form import CHANGE, form
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
ADD = "campaigns_campaign_add"
IN_KOREA = {"field": "locale", "op": "eq", "value": "ko"}


def step_of(page: str) -> str:
    return page.partition('name="_step" value="')[2].partition('"')[0]


def html(desk: Desk, campaign: Campaign, **query: Any) -> str:
    url = f"/admin/campaigns/campaign/{campaign.pk}/change/"
    return desk.client.get(url, query).content.decode()


# --- From step to step ----------------------------------------------------------------------------


def test_the_first_step_alone_is_a_draft_and_the_way_goes_on(desk: Desk, project: Project) -> None:
    people = make_audience(project, name="Everyone")
    reply = desk.post(ADD, **form(audience=people.pk, _step="who", _go="what"))
    campaign = Campaign.objects.get()
    assert reply["Location"] == f"/admin/campaigns/campaign/{campaign.pk}/change/?step=what&saved=1"
    assert (campaign.template.title, campaign.template.body) == ("", "")
    page = html(desk, campaign)
    assert step_of(page) == "what" and "no text yet" in page


def ticked(page: str) -> list[str]:
    """The steps that the rail shows as done."""
    rail = page.partition('class="c-rail"')[2].partition("</nav>")[0]
    done = [item for item in rail.split("<li") if "c-rail-done" in item]
    return [item.partition('name="_go" value="')[2].partition('"')[0] for item in done]


def test_a_step_is_ticked_once_somebody_saw_it_and_went_on(desk: Desk, project: Project) -> None:
    people = make_audience(project, name="Everyone")
    desk.post(ADD, **form(audience=people.pk, _step="who", _go="what"))
    campaign = Campaign.objects.get()
    assert ticked(html(desk, campaign, step="what")) == ["who"]
    text = {"template_from": "make", "title": "Hi", "body": "Come"}
    desk.post(CHANGE, campaign.pk, **form(campaign, **text, _step="what", _go="when"))
    assert ticked(html(desk, campaign, step="who")) == ["who"], "nobody went on from the text"
    assert ticked(html(desk, campaign, step="when")) == ["who", "what"], "“now” was not chosen yet"
    assert ticked(html(desk, campaign, step="review")) == ["who", "what", "when"]
    assert ticked(html(desk, campaign, step="who")) == ["who", "what", "when"]


def test_a_step_that_lacks_something_is_not_ticked_however_often_seen(
    desk: Desk, project: Project
) -> None:
    people = make_audience(project, name="Everyone")
    desk.post(ADD, **form(audience=people.pk, _step="who", _go="review"))
    assert ticked(html(desk, Campaign.objects.get(), step="review")) == ["who", "when"]


def test_another_campaign_starts_without_the_ticks_of_the_first(
    desk: Desk, project: Project
) -> None:
    first, second = make_campaign(project), make_campaign(project)
    assert ticked(html(desk, first, step="review")) == ["who", "what", "when"]
    assert ticked(html(desk, second, step="what")) == ["who"]


def test_where_there_is_no_audience_to_pick_one_begins_by_making_it(
    desk: Desk, project: Project
) -> None:
    make = 'id="id_audience_from_1" checked'
    assert make in desk.client.get(reverse(f"admin:{ADD}")).content.decode()
    make_audience(project)
    assert make not in desk.client.get(reverse(f"admin:{ADD}")).content.decode()


def test_a_text_written_in_place_is_a_template_of_its_own(desk: Desk, project: Project) -> None:
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign = Campaign.objects.get()
    draft = campaign.template
    text = {"template_from": "make", "title": "Hi {{ first_name }}", "body": "Come"}
    desk.post(CHANGE, campaign.pk, **form(campaign, **text, _go="when"))
    draft.refresh_from_db()
    assert (draft.name, draft.title, draft.body) == ("Spring", "Hi {{ first_name }}", "Come")
    assert Template.objects.count() == 1
    assert step_of(html(desk, campaign)) == "review"


def test_choosing_another_template_leaves_no_empty_one_behind(desk: Desk, project: Project) -> None:
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign = Campaign.objects.get()
    chosen = make_template(project)
    desk.post(CHANGE, campaign.pk, **form(campaign, template=chosen.pk))
    assert list(Template.objects.all()) == [chosen]


def test_writing_in_place_leaves_a_template_of_others_as_it_was(
    desk: Desk, project: Project
) -> None:
    shared = make_template(project, name="Shared", title="Ours")
    campaign = make_campaign(project, template=shared)
    make_campaign(project, template=shared)
    text = {"template_from": "make", "title": "Mine", "body": "Only here"}
    desk.post(CHANGE, campaign.pk, **form(campaign, **text))
    campaign.refresh_from_db()
    shared.refresh_from_db()
    assert (shared.title, campaign.template.title) == ("Ours", "Mine")
    assert campaign.template_id != shared.pk


def test_an_audience_built_in_place_gets_the_campaigns_name(desk: Desk, project: Project) -> None:
    make_audience(project, name="Spring")
    values = form(None, audience_from="make", rules=json.dumps(IN_KOREA))
    desk.post(ADD, **values)
    audience = Campaign.objects.get().audience
    assert (audience.name, audience.rules) == ("Spring 2", IN_KOREA)
    assert AuditEntry.objects.filter(action="created", subject__startswith="audience").exists()


def test_rules_that_cannot_be_are_refused_in_their_step_and_nothing_is_made(
    desk: Desk, project: Project
) -> None:
    rules = json.dumps({"field": "shoe", "op": "eq", "value": 1})
    reply = desk.post(ADD, **form(audience_from="make", rules=rules, _step="when", _go="review"))
    assert step_of(reply.content.decode()) == "who"
    assert not Campaign.objects.exists() and not Audience.objects.exists()
    assert not Template.objects.exists()


def test_a_text_with_a_mistake_is_refused_where_it_stands(desk: Desk, project: Project) -> None:
    text: dict[str, Any] = {"template_from": "make", "title": "{{ first_name", "body": "x"}
    reply = desk.post(ADD, **form(None, audience=make_audience(project).pk, **text))
    assert step_of(reply.content.decode()) == "what"
    assert "line 1" in text_of(reply) and not Template.objects.exists()


def test_without_an_audience_nothing_is_saved(desk: Desk, project: Project) -> None:
    assert "Choose an audience, or create new rules." in desk.save(ADD, **form())
    assert not Campaign.objects.exists()


# --- Repeats ------------------------------------------------------------------------------


def test_a_weekly_campaign_is_written_launched_and_stopped_by_hand(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    values = {"schedule_kind": "recurring", "repeat": "weekly", "at": "2030-05-01T09:00"}
    campaign = make_campaign(project)
    desk.post(CHANGE, campaign.pk, **form(campaign, **values))
    typed = {**values, "timezone": "Asia/Seoul", "campaign": campaign.pk, "rate_per_second": "1"}
    shown = text_of(desk.post("campaign_when", **typed))
    assert "1 May 2030, 09:00 Asia/Seoul" in shown and "8 May 2030" in shown
    assert "about 1 s for 1 device, at 1 a second" in shown
    assert "8 May 2030, 09:00 Asia/Seoul" in desk.open("campaign_review", campaign.pk)
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert Run.objects.get().state == "scheduled"
    moved = form(campaign, **{**values, "repeat": "daily"})
    assert "Stop it first" in desk.save(CHANGE, campaign.pk, **moved)
    desk.confirm("campaigns_campaign_stop", campaign.pk)
    assert Run.objects.get().state == "cancelled"
    assert "nothing repeats" in text_of(desk.confirm("campaigns_campaign_stop", campaign.pk))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"at": "2027-03-28T02:30"}, "02:30 does not exist on 28 March 2027"),
        ({"at": "2027-10-31T02:30"}, "the first one is used"),
        ({"at": "2020-01-01T09:00"}, "This time has passed"),
        ({"at": ""}, "Choose a date and a time"),
        ({"at": "2030-01-01T09:00", "timezone": "Mars"}, "“Mars” is not a time zone we know"),
        ({"at": "2030-01-01T09:00", "schedule_kind": "recurring"}, "Choose how often"),
        (
            {"at": "2030-01-01T09:00", "until": "2030-01-02T10:00", "repeat": "daily",
             "schedule_kind": "recurring"},
            "2 Jan 2030, 09:00 Europe/Berlin and that is the last one",
        ),
    ],
)  # fmt: skip
def test_a_time_is_judged_while_it_is_typed(
    desk: Desk, project: Project, typed: dict[str, str], said: str
) -> None:
    values = {"schedule_kind": "at", "timezone": "Europe/Berlin", **typed}
    assert said in text_of(desk.post("campaign_when", **values))


# --- Beside the form ------------------------------------------------------------------------------


def test_the_people_are_counted_while_one_chooses(desk: Desk, project: Project) -> None:
    make_device(make_contact(project, external_id="minji", locale="ko"))
    make_device(make_contact(project, external_id="ada", locale="en"))
    rules = {"audience_from": "make", "rules": json.dumps(IN_KOREA)}
    text = text_of(desk.post("campaign_who", settled_project=project.pk, **rules))
    assert "None of them has unsubscribed from this category or is suppressed." in text
    assert "People 1" in text and "minji" in text and "ada" not in text
    nobody = text_of(desk.post("campaign_who", settled_project=project.pk, audience_from="pick"))
    assert "Choose an audience" in nobody


def test_an_audience_of_another_project_is_not_shown(desk: Desk, project: Project) -> None:
    theirs = make_audience(make_project())
    make_device(make_contact(theirs.project, external_id="stranger"))
    asked = {"settled_project": project.pk, "audience_from": "pick", "audience": theirs.pk}
    assert "stranger" not in text_of(desk.post("campaign_who", **asked))


def test_the_text_is_shown_on_three_phones_to_one_of_the_audience(
    desk: Desk, project: Project
) -> None:
    audience = make_audience(project, rules=IN_KOREA)
    make_device(make_contact(project, locale="ko", attributes={"first_name": "Minji"}))
    make_device(make_contact(project, locale="en", attributes={"first_name": "Ada"}))
    asked = {"settled_project": project.pk, "audience": audience.pk, "template_from": "make",
             "title": "Hi {{ first_name }}", "body": "<b>Come</b>"}  # fmt: skip
    reply = desk.post("campaign_what", **asked)
    assert text_of(reply).count("Hi Minji") == 3
    assert b"&lt;b&gt;Come" in reply.content
    broken = desk.post("campaign_what", **{**asked, "title": "{{ first_name | shout }}"})
    assert "there is no filter “shout”" in text_of(broken)


def test_the_review_says_who_is_skipped_what_is_read_and_how_long_it_takes(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    make_device(make_contact(project, external_id="nameless", attributes={}))
    make_contact(project)
    campaign = make_campaign(project, rate_per_second=2, ttl_seconds=60)
    text = desk.open("campaign_review", campaign.pk)
    assert "People 5" in text and "Active devices 4" in text and "Android 4" in text
    assert "1 device: its person has no “first_name”" in text
    assert "2 s, at 2 a second (the campaign's own rate)" in text
    assert "a worker process died, with up to 4 requests. Nobody is sent more than three" in text
    assert "If late" not in text
    assert text.count("Hello Ada") >= 2 and "The longest found" in text


def test_the_review_warns_of_a_rate_too_low_for_its_time(desk: Desk, project: Project) -> None:
    make_people(project, 70)
    campaign = make_campaign(project, rate_per_second=1, ttl_seconds=60)
    assert "Raise the rate, or that time" in desk.open("campaign_review", campaign.pk)


def test_a_draft_without_words_is_reviewed_but_not_offered_for_launch(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign = Campaign.objects.get()
    text = desk.open("campaign_review", campaign.pk)
    assert "The text is empty" in text and "Launch …" not in text


# --- Who may --------------------------------------------------------------------------------------


def test_who_only_looks_sees_the_review_and_no_form(project: Project) -> None:
    campaign = make_campaign(project)
    desk = Desk(logged_in(Role.VIEWER))
    page = html(desk, campaign)
    assert "Counting people and devices" in page and 'name="_go"' not in page
    review = desk.open("campaign_review", campaign.pk)
    assert "Expires after" in review and "Change" not in review and "may launch" not in review


def test_an_editor_prepares_it_and_is_told_who_starts_it(project: Project) -> None:
    make_people(project, 1)
    desk = Desk(logged_in(Role.EDITOR))
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign = Campaign.objects.get()
    text = {"template_from": "make", "title": "Hi", "body": "Come"}
    desk.post(CHANGE, campaign.pk, **form(campaign, **text))
    said = desk.open("campaign_review", campaign.pk)
    assert "Ask a colleague who may launch" in said and "Launch …" not in said


# --- Before the first project, and after the launch -----------------------------------------------


def test_without_a_project_a_campaign_begins_with_one(desk: Desk) -> None:
    page = text_of(desk.client.get(reverse(f"admin:{ADD}"), follow=True))
    assert "Create a project first" in page and "Add project" in page


def test_a_launched_campaign_shows_its_run_and_is_not_offered_for_deletion(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project)
    assert "Delete" in desk.open(CHANGE, campaign.pk)
    run = control.launch(campaign, by="user:ada", now=timezone.now())
    Run.objects.filter(pk=run.pk).update(state=Run.State.SENDING)
    page = desk.open(CHANGE, campaign.pk)
    assert "Delete" not in page and "launched" in page
    assert f"Run {run.pk} Sending" in page and "Watch it" in page


def test_a_text_chosen_after_the_campaign_was_renamed_leaves_no_empty_one_behind(
    desk: Desk, project: Project
) -> None:
    chosen = make_template(project)
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign = Campaign.objects.get()
    desk.post(CHANGE, campaign.pk, **form(campaign, name="Autumn", template=campaign.template_id))
    campaign.refresh_from_db()
    desk.post(CHANGE, campaign.pk, **form(campaign, name="Autumn", template=chosen.pk))
    assert list(Template.objects.all()) == [chosen]


def test_a_draft_that_is_deleted_takes_its_empty_text_along(desk: Desk, project: Project) -> None:
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign = Campaign.objects.get()
    desk.post("campaigns_campaign_delete", campaign.pk, post="yes")
    assert not Campaign.objects.exists()
    assert not Template.objects.exists()


def test_a_text_chosen_by_a_program_leaves_no_empty_one_behind(
    desk: Desk, project: Project
) -> None:
    desk.post(ADD, **form(audience=make_audience(project).pk))
    campaign, chosen = Campaign.objects.get(), make_template(project)
    caller = Caller(project)
    assert caller.patch(f"campaigns/{campaign.pk}", {"template": chosen.pk}).status_code == 200
    assert list(Template.objects.all()) == [chosen]


def test_a_text_chosen_as_the_campaign_is_made_makes_no_empty_one(
    desk: Desk, project: Project
) -> None:
    chosen = make_template(project)
    desk.post(ADD, **form(audience=make_audience(project).pk, template=chosen.pk))
    assert Campaign.objects.get().template == chosen
    assert list(Template.objects.all()) == [chosen]
