"""Who writes for an audience is told how many of its people have a value, not of all people."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.audiences.audience import Audience
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_audience,
    make_contact,
    make_device,
    make_project,
    make_template,
)

pytestmark = pytest.mark.django_db
PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


@pytest.fixture
def pros(project: Project) -> Audience:
    """Two of five, one of them with a city."""
    for name, values in (("a", {"city": "Seoul"}), ("b", {"city": ""})):
        person = make_contact(project, external_id=name, attributes={"plan": "pro", **values})
        make_device(person)
        make_device(person)
    for _ in range(3):
        make_contact(project, attributes={"plan": "free", "city": "Oslo"})
    make_contact(make_project(), attributes={"plan": "pro", "theirs": "x"})
    return make_audience(project, rules=PRO)


def variables(desk: Desk, project: Project, **values: Any) -> str:
    return text_of(desk.post("campaign_variables", settled_project=project.pk, **values))


def test_the_picker_counts_in_the_audience_that_is_chosen(
    desk: Desk, project: Project, pros: Audience
) -> None:
    said = variables(desk, project, audience_from="pick", audience=pros.pk, preview_person="a")
    assert "plan pro everyone" in said and "city Seoul 50 %" in said
    assert "external_id a everyone" in said and "theirs" not in said
    assert "What the 2 people of this audience have; in grey, what a has" in said


def test_it_counts_in_rules_that_are_not_saved_yet(
    desk: Desk, project: Project, pros: Audience
) -> None:
    said = variables(desk, project, audience_from="make", rules='{"field": "attributes.plan", '
                     '"op": "eq", "value": "free"}')  # fmt: skip
    assert "city Oslo everyone" in said and "What the 3 people of this audience have" in said


@pytest.mark.parametrize("rules", ["{", '{"field": "x"}'])
def test_without_an_audience_it_counts_in_all_people(
    desk: Desk, project: Project, pros: Audience, rules: str
) -> None:
    for said in (
        variables(desk, project),
        variables(desk, project, audience_from="make", rules=rules),
    ):
        assert "estimated from a sample of all of them" in said and "city" in said


def test_an_audience_of_nobody_shows_what_all_people_have(
    desk: Desk, project: Project, pros: Audience
) -> None:
    nobody = make_audience(project, rules={**PRO, "value": "none"})
    said = variables(desk, project, audience_from="pick", audience=nobody.pk)
    assert "estimated from a sample of all of them" in said and "plan" in said


def test_beside_the_text_it_is_said_who_of_the_audience_lacks_a_value(
    desk: Desk, project: Project, pros: Audience
) -> None:
    text = {"template_from": "make", "title": "{{ city }}", "body": "B", "image": "", "link": ""}
    where = {"settled_project": project.pk, "audience_from": "pick", "audience": pros.pk}
    said = text_of(desk.post("campaign_what", **text, **where))
    assert "Attributes of this audience's people city 1 of 2 lacks it and is skipped" in said
    said = text_of(desk.post("campaign_what", settled_project=project.pk, **text))
    assert "Attributes of the newest people city 1 of 5 lacks it and is skipped" in said


def test_beside_the_text_the_values_of_variants_and_translations_are_counted(
    desk: Desk, project: Project, pros: Audience
) -> None:
    main = make_template(project, title="{{ plan }}", locales={"ko": {"title": "{{ city }}"}})
    other = make_template(project, title="{{ plan }} {{ shoe }}")
    form = {"template_from": "pick", "template": main.pk, "variant_1": other.pk, "weight_1": "50"}
    where = {"settled_project": project.pk, "audience_from": "pick", "audience": pros.pk}

    said = text_of(desk.post("campaign_what", **form, **where)).partition("Attributes of this")[2]

    assert "city Variant A 1 of 2 lacks it, and is skipped if their text needs it" in said
    assert "plan everyone has it" in said
    assert "shoe Variant B 2 of 2 lack it and are skipped" in said
