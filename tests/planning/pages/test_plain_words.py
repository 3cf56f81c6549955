"""Words of the screen say what a marketer sees, not what a program calls it."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.audiences import words
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_contact, make_device, make_run
from tests.given.campaign_form import goal_form
from tests.runs.pages.course import settle

pytestmark = pytest.mark.django_db
EMPTY = '{"all": [{"field": "attributes.city", "op": "in", "value": []}]}'
SAID = "Rule 1, value: needs at least one value."


def test_rules_in_a_campaign_that_lack_a_value_are_refused_by_their_number(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project)
    given = {**goal_form(campaign), "audience_from": "make", "rules": EMPTY}
    reply: Any = desk.post("campaigns_campaign_change", campaign.pk, **given)
    assert reply.context["adminform"].form.errors["rules"] == [SAID]
    panel: Any = desk.post("campaign_who", project=project.pk, **given)
    assert panel.context["hint"] == SAID


@pytest.mark.parametrize(
    ("op", "said", "turned"),
    [
        ("in", "city is Seoul", "city is not Seoul"),
        ("not_in", "city is not Seoul", "city is Seoul"),
        ("has_any", "city has Seoul", "city does not have Seoul"),
        ("has_none", "city does not have Seoul", "city has Seoul"),
    ],
)
def test_one_of_a_single_value_reads_as_that_value(op: str, said: str, turned: str) -> None:
    leaf = {"field": "attributes.city", "op": op, "value": ["Seoul"]}
    assert words.sentence(leaf, project_id=1) == said
    assert words.sentence({"not": leaf}, project_id=1) == turned
    two = {**leaf, "value": ["Seoul", "Busan"]}
    assert "one of Seoul, Busan" in words.sentence(two, project_id=1).replace("none", "one")


def test_a_persons_own_page_does_not_point_to_itself_as_to_another(
    desk: Desk, project: Project
) -> None:
    ada = make_contact(project, external_id="ada")
    make_device(ada)
    run = make_run(project)
    settle(run, 1, "skipped", "unsubscribed")
    said = desk.open("person_sent", ada.pk)
    assert "This page shows when, and what." in said and "Their page" not in said


def test_no_kind_of_category_speaks_of_what_is_not_built(desk: Desk, project: Project) -> None:
    page = desk.open("notifications_category_add")
    assert "messages that cannot wait." in page and "once they exist" not in page
