"""Values, counts and copies as a reader would write them."""

from __future__ import annotations

import json

import pytest

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_campaign, make_contact, make_template

pytestmark = pytest.mark.django_db


def test_an_object_and_a_list_of_a_person_are_said_in_words(desk: Desk, project: Project) -> None:
    attributes = {"order": {"id": "A1", "gift": True}, "tags": [], "teams": ["red", "blue"]}
    person = make_contact(project, attributes=attributes)
    for text in (
        desk.open("notifications_contact_changelist"),
        desk.open("notifications_contact_change", person.pk),
    ):
        assert "id A1, gift yes" in text and "red, blue" in text


def test_the_answer_why_somebody_is_not_in_shows_a_list_in_words(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="ada", attributes={"tags": [], "teams": ["a", "b"]})
    for field, seen in (("tags", "(it is empty)"), ("teams", "(it is a, b)")):
        rules = {"field": f"attributes.{field}", "op": "has", "value": "x"}
        asked = {"project": project.pk, "rules": json.dumps(rules), "person": "ada"}
        assert seen in text_of(desk.post("audience_person", **asked))


def test_a_copy_of_a_copy_is_the_next_number(desk: Desk, project: Project) -> None:
    rows = {
        "campaign": make_campaign(project, name="Spring").pk,
        "audience": make_audience(project, name="Spring").pk,
        "template": make_template(project, name="Spring").pk,
    }
    names = {"Spring (copy)", "Spring (copy 2)", "Spring (copy 3)"}
    for kind, model in (("campaign", Campaign), ("audience", Audience), ("template", Template)):
        number = rows[kind]
        for _ in names:
            desk.confirm(f"campaigns_{kind}_duplicate", number)
            number = model.objects.latest("pk").pk  # the copy is copied
        assert set(model.objects.filter(name__contains="copy").values_list("name", flat=True)) == (
            names
        ), kind


def test_a_copy_of_copies_made_before_has_one_suffix(project: Project) -> None:
    campaign = make_campaign(project, name="Spring (copy) (copy) (copy)")
    assert campaign.duplicate().name == "Spring (copy)"
    long = make_campaign(project, name="x" * 100)
    assert long.duplicate().name == "x" * 93 + " (copy)"


def test_a_copied_template_keeps_its_text_and_begins_its_own_history(
    desk: Desk, project: Project
) -> None:
    texts = {"title": "Hi", "body": "Hello {{ city }}", "locales": {"ko": {"body": "안녕"}}}
    template = make_template(project, **texts)
    desk.confirm("campaigns_template_duplicate", template.pk)
    copy = Template.objects.latest("pk")
    assert {**copy.frozen(), "template": 0} == {**template.frozen(), "template": 0}
    assert copy.revisions.count() == 1
    assert AuditEntry.objects.filter(action="created", subject_id=copy.pk).exists()
