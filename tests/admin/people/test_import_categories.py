"""Categories as meanings of a file's columns: offered, explained, and where to make one."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from notifications.people.consent.category import Category
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.importing import merge, upload

pytestmark = pytest.mark.django_db
FILE = "id,deals\nu1,yes\nu2,아니요\nu3,\n"


def page(desk: Desk, one: Any) -> Any:
    return desk.client.get(reverse("admin:notifications_import_change", args=[one.pk]))


def test_each_category_is_offered_as_the_meaning_of_a_column_and_its_answers_are_explained(
    desk: Desk, project: Project
) -> None:
    Category.objects.create(project=project, slug="offers", name="Offers")
    one = upload(project, FILE)
    reply = page(desk, one)
    text = text_of(reply)
    assert "Wants “Offers”: yes or no" in text
    assert "yes is any of: 1, on, t, true, y, yes, 네, 예 ; no is any of: 0, f, false" in text
    assert reverse("admin:notifications_category_changelist") in reply.content.decode()

    sent = {"mode": "add", "meaning-0": "external_id", "meaning-1": "category:offers"}
    desk.post("import_columns", one.pk, **sent)
    one.refresh_from_db()
    one.move(("checking",), state="ready")
    assert merge(one).refused == 0
    said = dict(Contact.objects.values_list("external_id", "preferences"))
    assert said["u2"]["offers"]["wanted"] is False
    assert said["u3"] == {}, "an empty cell says nothing"
    shown = text_of(page(desk, one))
    assert "Unsubscribed from a category 1" in shown and "Unsubscribed 0" not in shown


def test_where_there_are_no_categories_the_page_leads_to_making_one(
    desk: Desk, project: Project
) -> None:
    reply = page(desk, upload(project, FILE))
    assert "This project has no categories" in text_of(reply)
    assert reverse("admin:notifications_category_add") in reply.content.decode()
    assert "Wants “" not in text_of(reply)
