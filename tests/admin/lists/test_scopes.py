"""What a key may do: one sentence for each scope, wherever a scope is chosen, and none chosen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.urls import reverse

from config.doors import ENDPOINTS
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey, Scope
from tests.admin.desk import Desk

pytestmark = pytest.mark.django_db
ADD = "notifications_apikey_add"
DOCS = Path(__file__).parents[3] / "docs" / "api.md"
SENT = "what is to be sent"
# What a sentence calls a door.
IN_WORDS = {
    "contacts": "people", "campaigns": SENT, "automations": SENT, "rehearsals": "runs",
    "backpressure": "how busy your servers are", "holidays": SENT,
}  # fmt: skip
MADE = {  # said by what it makes
    "runs/<int:pk>/list": "lists",
    "templates/<int:pk>/test": "test sends",
    "campaigns/<int:pk>/test": "test sends",
    "tests/<int:pk>": "test sends",
}


def test_a_new_key_may_do_nothing_until_something_is_ticked(desk: Desk, project: Project) -> None:
    page = desk.client.get(reverse(f"admin:{ADD}")).content.decode()
    assert page.count('name="scopes"') == len(Scope)
    boxes = [box for box in page.split("<input")[1:] if 'name="scopes"' in box]
    assert not [box for box in boxes if re.search(" checked[ >]", box)]
    desk.post(ADD, name="shop")
    assert not ApiKey.objects.exists()
    desk.post(ADD, name="shop", scopes=["templates"])
    assert ApiKey.objects.get().scopes == ["templates"]


@pytest.mark.parametrize("scope", Scope)
def test_a_scope_is_said_in_the_same_sentence_everywhere(
    desk: Desk, project: Project, scope: Scope
) -> None:
    row, _key = ApiKey.issue(project, "shop", [scope])
    english = str(scope.label)
    assert english in desk.open(ADD)
    shown = desk.open("notifications_apikey_change", row.pk)
    assert english in shown
    assert not [other for other in Scope if other != scope and str(other.label) in shown]
    schema = json.loads(desk.client.get("/api/schema/", {"format": "json"}).content)
    told = schema["components"]["securitySchemes"]["apiKey"]["description"]
    assert f"`{scope}`: {english}" in told
    assert f"| `{scope}` | {english} |" in DOCS.read_text()


def test_each_door_is_named_in_the_sentence_of_the_scope_that_opens_it() -> None:
    for route, methods in ENDPOINTS.items():
        first = MADE.get(route) or route.partition("/")[0]
        for scope in {*methods.values()} - {Scope.LAUNCH}:
            assert IN_WORDS.get(first, first) in str(scope.label), route
