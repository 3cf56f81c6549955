"""Whose phone a page shows: somebody's who gets it, and not of one who said no."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_campaign, make_contact, make_device, make_run

pytestmark = pytest.mark.django_db
PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


def known(project: Project, name: str, **values: object) -> Contact:
    person = make_contact(project, external_id=name, **values)
    make_device(person)
    return person


@pytest.fixture
def people(project: Project) -> Project:
    """The newest, whom a page would show first, want nothing."""
    known(project, "ada")
    for n in range(15):
        known(project, f"gone{n}", subscribed=False)
    return project


def test_a_review_and_its_dialog_show_nobody_who_gets_nothing(desk: Desk, people: Project) -> None:
    campaign = make_campaign(people)
    review = desk.open("campaign_review", campaign.pk)
    assert (
        "ada · Android" in review
        and "gone" not in review.split("What they read")[1].split("The longest")[0]
    )
    dialog = desk.open("campaigns_campaign_launch", campaign.pk)
    assert "As ada reads it" in dialog and "15 will be skipped: unsubscribed" in dialog


def test_where_nobody_gets_it_the_text_is_shown_all_the_same(desk: Desk, people: Project) -> None:
    Contact.objects.update(subscribed=False)
    assert re.search(
        r"As gone\d+ reads it", desk.open("campaigns_campaign_launch", make_campaign(people).pk)
    )


def test_the_step_of_the_text_shows_a_reader_of_the_audience(desk: Desk, people: Project) -> None:
    campaign = make_campaign(people)
    given = {"audience_from": "pick", "audience": campaign.audience_id, "template_from": "pick",
             "template": campaign.template_id, "project": people.pk}  # fmt: skip
    for _each in range(5):
        reply = desk.post("campaign_what", **given)
        assert reply.context["person"].external_id == "ada"  # type: ignore[attr-defined]


def test_a_run_shows_one_of_its_audience_before_recipients_are_chosen(
    desk: Desk, project: Project
) -> None:
    known(project, "ada", attributes={"plan": "pro", "first_name": "Ada"})
    for n in range(15):
        known(project, f"free{n}", attributes={"plan": "free", "first_name": "Free"})
    known(project, "no", attributes={"plan": "pro", "first_name": "No"}, subscribed=False)
    run = make_run(project, advanced=False, audience=make_audience(project, rules=PRO))
    assert run.planned is None
    for _each in range(5):
        page = desk.open("campaigns_run_change", run.pk)
        assert "What it says" in page and "Hello Ada" in page and "Hello Free" not in page


def test_an_open_page_takes_over_what_was_sent_when_the_run_goes_on(
    desk: Desk, project: Project
) -> None:
    known(project, "ada", attributes={"first_name": "Ada"})
    run = make_run(project, advanced=False)
    before = f"{run.state}-0"
    engine.advance(run.pk, now=timezone.now())
    assert Run.objects.get(pk=run.pk).state == "sending"
    url = reverse("admin:run_live", args=[run.pk])
    moved = desk.client.get(url, {"seen": before}).content.decode()
    assert re.search(r'id="run-as-sent"[^>]*hx-swap-oob="true"', moved)
    assert "As it was sent" in moved and "Hello Ada" in moved
    assert "run-as-sent" not in desk.client.get(url, {"seen": "sending-0"}).content.decode()


@pytest.mark.parametrize("page", ["campaign_review", "campaigns_campaign_launch"])
def test_before_a_launch_one_reads_that_it_is_kept_in_the_inbox_too(
    desk: Desk, people: Project, page: str
) -> None:
    kept = "Inbox kept in the app's inbox as well, whether or not a phone is reached"
    assert kept in desk.open(page, make_campaign(people, inbox=True).pk)
    assert "in the app's inbox" not in desk.open(page, make_campaign(people).pk)
