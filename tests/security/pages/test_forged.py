"""What another site can make a browser send: no page's verb takes it, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from config import doors
from notifications.staff.team import Role
from tests.roles.every_page import address, endpoints, methods_of, pages
from tests.roles.people import somebody

pytestmark = pytest.mark.django_db
YES = {"_form_submitted": "on", "_save": "", "post": "yes", "action": "archive", "_go": "launch"}
FOREIGN = ("https://evil.example", "null", "http://testserver.evil.example", "https://testserver")
# The one who asks was here, and that is written down.
OF_THE_VISIT = {"django_session", "auth_user"}


@pytest.fixture
def browser() -> Client:
    """As a browser is: whoever opens a page of ours in it is the owner."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(somebody(Role.OWNER, "olga"))
    return client


def addresses(rows: dict[str, int]) -> Iterator[str]:
    for page in pages():
        if (url := address(page, rows)) is not None:
            yield url
    yield reverse("set_language")


def everything() -> dict[str, list[Any]]:
    return {
        model._meta.db_table: list(model._base_manager.order_by("pk").values_list())
        for model in apps.get_models()
        if model._meta.db_table not in OF_THE_VISIT
    }


def test_a_form_without_our_token_is_refused_everywhere(
    browser: Client, rows: dict[str, int]
) -> None:
    before, taken = everything(), []
    for url in addresses(rows):
        for headers in ({}, {"HX-Request": "true", "X-Requested-With": "XMLHttpRequest"}):
            reply = browser.post(url, YES, headers=headers)
            if reply.status_code != 403:
                taken.append((url, reply.status_code))
    assert taken == []
    assert everything() == before


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_form_with_our_token_from_another_site_is_refused_everywhere(
    browser: Client, rows: dict[str, int], origin: str
) -> None:
    browser.get(reverse("admin:campaigns_template_add"))
    token = browser.cookies["csrftoken"].value
    before, taken = everything(), []
    for url in addresses(rows):
        for headers in ({"Origin": origin}, {"Origin": origin, "X-CSRFToken": token}):
            form = {**YES, "csrfmiddlewaretoken": token}
            reply = browser.post(url, form, headers=headers)
            if reply.status_code != 403:
                taken.append((url, reply.status_code))
    assert taken == []
    assert everything() == before


def test_being_logged_in_opens_nothing_of_the_api(browser: Client) -> None:
    """A program shows its key; a browser brings its cookies wherever it is sent."""
    for route, endpoint in endpoints():
        if doors.is_anybodys(route):
            continue
        url = "/" + route.replace("<int:pk>", "1").replace("<int:id>", "1")
        url = url.replace("<str:external_id>", "ada").replace("<path:external_id>", "ada")
        for method in methods_of(endpoint):
            reply = browser.generic(method, url, b"{}", content_type="application/json")
            assert reply.status_code in (401, 404), (method, url, reply.status_code)
            assert reply.status_code == 401 or "<" in url, (method, url)
