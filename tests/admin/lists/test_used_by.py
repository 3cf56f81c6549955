"""Lists of what others use say by how many it is used, whoever they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.planning import campaign_variants
from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_automation, make_campaign, make_template

pytestmark = pytest.mark.django_db


def make_offers(project: Project) -> Category:
    return Category.objects.create(project=project, name="Offers", slug="offers")


def test_a_template_is_used_by_campaigns_as_any_variant_and_by_automations(
    desk: Desk, project: Project
) -> None:
    text = make_template(project, name="Ours")
    assert "–" in desk.open("campaigns_template_changelist", q="Ours")
    campaign_variants.choose(make_campaign(project), [(text, 50)])
    assert "1 campaign " in desk.open("campaigns_template_changelist", q="Ours")
    for _ in range(2):
        make_campaign(project, template=text)
    for _ in range(2):
        make_automation(project, template=text)
    assert "3 campaigns, 2 automations" in desk.open("campaigns_template_changelist", q="Ours")


def test_a_category_is_used_by_automations_as_well(desk: Desk, project: Project) -> None:
    offers = make_offers(project)
    answer = make_automation(project, category=offers)
    assert "1 automation" in desk.open("notifications_category_changelist")
    make_campaign(project, category=offers)
    assert "1 campaign, 1 automation" in desk.open("notifications_category_changelist")
    assert answer.name in desk.open("notifications_category_change", offers.pk)


def test_an_audience_is_used_by_the_rules_of_others_as_well(desk: Desk, project: Project) -> None:
    ours = make_audience(project, name="Ours")
    rule = {"field": "audience", "op": "eq", "value": ours.pk}
    for number in range(2):
        make_audience(project, name=f"Other {number}", rules={"all": [rule, {"not": rule}]})
    assert "2 audiences" in desk.open("campaigns_audience_changelist", q="Ours")
    make_campaign(project, audience=ours)
    assert "1 campaign, 2 audiences" in desk.open("campaigns_audience_changelist", q="Ours")


@pytest.mark.parametrize("name", ["template", "audience"])
def test_a_longer_list_asks_no_more_of_who_uses_its_rows(
    desk: Desk, project: Project, name: str
) -> None:
    counts = []
    for _ in range(3):
        made: Any = make_template(project) if name == "template" else make_audience(project)
        make_campaign(project, **{name: made})
        desk.open(f"campaigns_{name}_changelist")
        with CaptureQueriesContext(connection) as asked:
            desk.open(f"campaigns_{name}_changelist")
        counts.append(len(asked))
    assert counts[1] == counts[2]
