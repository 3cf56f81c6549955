"""The goal of a run, on the pages: set in the campaign, told in the result."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from campaigns.engagement.goal import GoalSum
from campaigns.runs.pages.result.engagement import amount
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_run
from tests.given.campaign_form import goal_form
from tests.given.runs import bought, ended

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking(project: Project) -> Project:
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    project.refresh_from_db()
    return project


def test_a_goal_is_set_on_the_page_of_a_campaign_and_told_at_its_review(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project)
    assert (
        desk.post("campaigns_campaign_change", campaign.pk, **goal_form(campaign)).status_code
        == 302
    )
    campaign.refresh_from_db()
    assert (campaign.goal_event, campaign.goal_within_seconds) == ("bought", 21_600)
    assert (campaign.goal_after, campaign.goal_value) == ("received", "price")
    review = desk.open("campaign_review", campaign.pk)
    assert "Goal “bought” within 6 h of receiving it, summing up “price”" in review
    dialog = desk.open("campaigns_campaign_launch", campaign.pk)
    assert "Goal “bought” within 6 h of receiving it, summing up “price”" in dialog


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("goal_event", "two\u200bwords", "A name is one line"),
        ("goal_value", "€", "A name starts with a letter"),
        ("goal_within_seconds", "31 days", "Between 1 min and 30 days."),
    ],
)
def test_a_goal_that_cannot_be_is_refused_at_its_field(
    desk: Desk, project: Project, field: str, value: str, said: str
) -> None:
    campaign = make_campaign(project)
    given = goal_form(campaign, **{field: value})
    reply: Any = desk.post("campaigns_campaign_change", campaign.pk, **given)
    assert reply.status_code == 200 and said in str(reply.context["adminform"].form.errors[field])


def test_without_an_event_nothing_else_of_the_goal_refuses_the_page(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project)
    given = goal_form(campaign, goal_event="", goal_within_seconds="soon", goal_after="")
    assert desk.post("campaigns_campaign_change", campaign.pk, **given).status_code == 302


def test_the_goal_is_the_last_step_of_the_funnel_with_its_value(
    desk: Desk, asking: Project
) -> None:
    make_people(asking, 4)
    run = make_run(asking, goal_event="bought", goal_value="price")
    bought(run, 1_200, 34.5)
    ended(run)
    page = desk.open("run_echo", run.pk)
    assert "Opened 2 2 50 % 100 % bought 1 2 50 % 50 %" in page
    assert "“bought” within 1 day of opening it, summing up “price”" in page
    assert "1 device 50 % of those who opened it 2 times “price” adds up to 1,234.50" in page
    assert "had no number" not in page
    assert "Platform Can tell bought price Android 2 1 50 % 1,234.50" in page
    assert "for the last run with this goal that its person opened" in page


def test_the_events_that_added_nothing_to_its_value_are_counted(
    desk: Desk, asking: Project
) -> None:
    make_people(asking, 4)
    run = make_run(asking, goal_event="bought", goal_value="price")
    bought(run, 1_200, "30", None, 34.5)
    ended(run)
    page = desk.open("run_echo", run.pk)
    assert "4 times “price” adds up to 1,234.50" in page
    assert "2 of these had no number in “price” and added nothing." in page


def test_a_goal_nobody_reached_is_told_as_none(desk: Desk, asking: Project) -> None:
    make_people(asking, 2)
    run = ended(make_run(asking, goal_event="bought"))
    page = desk.open("run_echo", run.pk)
    assert "bought 0 0 0 % –" in page and "0 devices 0 times" in page


def test_the_goal_has_a_course_of_its_own(desk: Desk, asking: Project) -> None:
    make_people(asking, 2)
    run = ended(make_run(asking, goal_event="bought"))
    bought(run, 1)
    assert "“bought” over time" not in desk.open("run_echo", run.pk)
    GoalSum.objects.filter(by="after").update(value="3")
    assert "“bought” over time" in desk.open("run_echo", run.pk)


def test_a_page_that_shows_the_goal_looks_again_when_it_is_reached(
    desk: Desk, asking: Project
) -> None:
    make_people(asking, 2)
    run = ended(make_run(asking, goal_event="bought"))
    bought(run)
    address = reverse("admin:run_echo", args=[run.pk])
    shown = desk.client.get(address).content.decode()
    tag = shown.partition("?tag=")[2].partition('"')[0]
    assert desk.client.get(address, {"tag": tag}).status_code == 204
    bought(run, 1)
    assert desk.client.get(address, {"tag": tag}).status_code == 200


@pytest.mark.parametrize(
    ("number", "said"),
    [("0", "0"), ("12", "12"), ("1234.5", "1,234.50"), ("0.1234", "0.1234"), ("-3.25", "-3.25")],
)
def test_an_amount_is_written_as_money_is(number: str, said: str) -> None:
    assert amount(Decimal(number)) == said
