"""A text that is being corrected is not sent once more without a word."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_people, make_run
from tests.given.runs import ended, ended_each_way

pytestmark = pytest.mark.django_db

BOTH_PAGES = ("campaign_review", "campaigns_campaign_launch")
WRONG = "that text was wrong. It is corrected by “Spring (correction)”."
STILL = "its text is still what run"
LOOK = "The text of this run was wrong: look at the text of the new campaign before you launch it."
SHARE = {"field": "random", "op": "lte", "value": {"percent": 40, "seed": "spring"}}


def corrected(desk: Desk, run: Run, **right: Any) -> Campaign:
    desk.confirm("campaigns_run_correct", run.pk)
    made = Campaign.objects.get(corrects=run)
    Template.objects.filter(pk=made.template_id).update(**right)
    return made


def made_by(desk: Desk, verb: str, run: Run, **values: Any) -> Campaign:
    desk.confirm(verb, run.pk, **values)
    others = Campaign.objects.exclude(runs=run).filter(corrects=None)
    return others.latest("pk")


def link_to(campaign: Campaign) -> str:
    return (
        f'<a class="c-link" href="/admin/campaigns/campaign/{campaign.pk}/change/">{campaign}</a>'
    )


def html(desk: Desk, page: str, campaign: Campaign) -> str:
    return desk.client.get(reverse(f"admin:{page}", args=[campaign.pk])).content.decode()


def test_a_draft_for_the_rest_of_a_corrected_run_warns_of_its_text(
    desk: Desk, project: Project
) -> None:
    run = ended_each_way(project)
    before = made_by(desk, "campaigns_run_rest", run)
    assert not any(WRONG in desk.open(page, before.pk) for page in BOTH_PAGES)
    assert LOOK not in desk.open("campaigns_run_rest", run.pk)

    correction = corrected(desk, run, title="Right at last")
    after = made_by(desk, "campaigns_run_rest", run)
    for draft in (before, after):
        for page in BOTH_PAGES:
            assert f"Run {run.pk} said the same, and {WRONG}" in desk.open(page, draft.pk)
            assert link_to(correction) in html(desk, page, draft)
    assert LOOK in desk.open("campaigns_run_rest", run.pk)

    [said] = Caller(project).get(f"campaigns/{after.pk}/check").json()["warnings"][:1]
    assert said["code"] == "text_was_wrong" and WRONG in said["message"]

    Template.objects.filter(pk=after.template_id).update(title="Right here as well")
    assert not any(WRONG in desk.open(page, after.pk) for page in BOTH_PAGES)


def test_a_draft_for_everybody_else_warns_of_it_too(desk: Desk, project: Project) -> None:
    make_people(project, 30)
    run = ended(make_run(project, audience=make_audience(project, rules=SHARE), name="Spring"))
    corrected(desk, run, title="Right at last")
    assert LOOK in desk.open("campaigns_run_everybody_else", run.pk)
    draft = made_by(desk, "campaigns_run_everybody_else", run)
    assert all(WRONG in desk.open(page, draft.pk) for page in BOTH_PAGES)


def test_only_the_text_that_was_put_right_was_wrong(desk: Desk, project: Project) -> None:
    """Two languages, and only one of them was."""
    make_people(project, 3)
    german = {"title": "Frühling", "body": "Heute"}
    run = ended(make_run(project, name="Spring", template={"locales": {"de": german}}))
    corrected(desk, run, locales={"de": {**german, "title": "Frühling!"}})

    only_main = make_campaign(project)
    as_wrong = make_campaign(project, template={"locales": {"de": german}})
    assert WRONG not in desk.open("campaign_review", only_main.pk)
    assert WRONG in desk.open("campaign_review", as_wrong.pk)


def test_a_correction_that_says_what_it_corrects_is_told_so(desk: Desk, project: Project) -> None:
    run = ended_each_way(project)
    made = corrected(desk, run)
    for page in BOTH_PAGES:
        said = desk.open(page, made.pk)
        assert f"It corrects run {run.pk}, and {STILL} {run.pk} said: put the text right" in said
        assert WRONG not in said
    told = Caller(project).get(f"campaigns/{made.pk}/check").json()["warnings"]
    assert told[0]["code"] == "text_unchanged"

    Template.objects.filter(pk=made.template_id).update(body="Right at last")
    assert not any(STILL in desk.open(page, made.pk) for page in BOTH_PAGES)


def test_a_correction_that_leaves_the_wrong_text_in_inboxes_says_so(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    made = corrected(desk, ended(make_run(project, inbox=True)), body="Right at last")
    for page in BOTH_PAGES:
        assert "stays in people's inboxes" not in desk.open(page, made.pk)

    Campaign.objects.filter(pk=made.pk).update(inbox=False)

    for page in BOTH_PAGES:
        assert "stays in people's inboxes" in desk.open(page, made.pk)
    told = Caller(project).get(f"campaigns/{made.pk}/check").json()["warnings"]
    assert "wrong_in_inbox" in [warning["code"] for warning in told]


def test_a_correction_that_is_a_draft_yet_already_names_the_text_wrong(
    desk: Desk, project: Project
) -> None:
    run = ended_each_way(project)
    corrected(desk, run)
    draft = made_by(desk, "campaigns_run_rest", run)
    assert WRONG in desk.open("campaign_review", draft.pk)


def test_sending_again_warns_that_the_text_was_wrong(desk: Desk, project: Project) -> None:
    run = ended_each_way(project)
    warning = "The text of this run was wrong, and this sends the wrong text again."
    assert warning not in desk.open("campaigns_run_send_again", run.pk)
    correction = corrected(desk, run, title="Right at last")
    said = desk.open("campaigns_run_send_again", run.pk)
    assert f"{warning} See the correction: {correction}" in said
