"""Step Who says who of the audience is skipped, and what the kind of a category means."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from notifications.people.consent.category import Category
from notifications.people.consent.suppression import Suppression
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
NO = {"offers": {"wanted": False, "at": "2026-01-01T00:00:00Z", "from": "api"}}


@pytest.fixture
def people(project: Project) -> None:
    for name, values in (
        ("ada", {}),
        ("ben", {"subscribed": False}),
        ("cho", {"preferences": NO}),
        ("dan", {}),
    ):
        make_device(make_contact(project, external_id=name, **values))
    Suppression.objects.create(
        project=project, external_id="dan", at=timezone.now(), reason="asked", by="user:admin"
    )


def who(desk: Desk, project: Project, **values: Any) -> str:
    audience = make_audience(project, rules={"all": []})
    chosen = {"settled_project": project.pk, "audience_from": "pick", "audience": audience.pk}
    return text_of(desk.post("campaign_who", **chosen, **values))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("", "4 devices; 2 will be skipped: 1 suppressed, 1 unsubscribed."),
        ("marketing", "4 devices; 3 will be skipped: 2 unsubscribed, 1 suppressed."),
        ("transactional", "4 devices; 1 will be skipped: suppressed."),
    ],
)
def test_those_who_are_out_are_counted_by_the_category(
    desk: Desk, project: Project, people: None, kind: str, said: str
) -> None:
    chosen: dict[str, Any] = {}
    if kind:
        row = Category.objects.create(project=project, name="Offers", slug="offers", kind=kind)
        chosen = {"category": row.pk}
    text = who(desk, project, **chosen)
    assert said in text.replace("1 unsubscribed, 1 suppressed", "1 suppressed, 1 unsubscribed")


def test_a_category_of_another_project_counts_as_none(
    desk: Desk, project: Project, people: None
) -> None:
    theirs = Project.objects.create(name="Theirs", slug="theirs")
    row = Category.objects.create(project=theirs, name="R", slug="r", kind="transactional")
    assert "2 will be skipped" in who(desk, project, category=row.pk)


def test_the_page_tells_what_each_kind_of_category_means(desk: Desk, project: Project) -> None:
    Category.objects.create(project=project, name="Receipts", slug="r", kind="transactional")
    page = desk.open("campaigns_campaign_change", make_campaign(project).pk, step="who")
    assert "Receipts (Transactional)" in page
    assert "Marketing: Goes to people who are subscribed" in page
    assert "Transactional: Goes to everyone who is not suppressed" in page
    assert "Critical: Goes to the same people as transactional" in page
