"""What is the same in every row of a list is made once for the list."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.forms.widgets import Widget
from django.test import Client
from pytest import MonkeyPatch

from notifications.people.project import Project
from tests.given.builders import make_contact

pytestmark = pytest.mark.django_db
PEOPLE = "/admin/notifications/contact/"


def test_a_longer_list_renders_no_more_widgets(
    admin_client: Client, project: Project, monkeypatch: MonkeyPatch
) -> None:
    rendered: list[str] = []
    render = Widget.render

    def counted(self: Widget, name: str, *given: Any, **named: Any) -> Any:
        rendered.append(name)
        return render(self, name, *given, **named)

    monkeypatch.setattr(Widget, "render", counted)
    counts = []
    for number in range(20):
        make_contact(project, external_id=f"u{number}")
        if number in (1, 19):
            admin_client.get(PEOPLE)  # what is kept for all lists is made by now
            rendered.clear()
            admin_client.get(PEOPLE)
            counts.append(len(rendered))
    assert counts[0] == counts[1] > 0


def test_each_row_is_chosen_by_its_own_box(admin_client: Client, project: Project) -> None:
    people = [make_contact(project, external_id=f"u{number}") for number in range(3)]
    page = admin_client.get(PEOPLE).content.decode()
    for person in people:
        box = f'name="{ACTION_CHECKBOX_NAME}" value="{person.pk}"'
        assert page.count(box) == 1
    korean = admin_client.get(PEOPLE, headers={"accept-language": "ko"}).content.decode()
    assert "aria-label" in korean and "Select record" not in korean
