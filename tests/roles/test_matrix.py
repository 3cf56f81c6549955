"""Every door × every role × looking and changing, tried for real. A new door without entry fails.

The doors are found in the URL configuration, what should happen in `config/doors.py`; that the
table itself says the right thing, `test_roles.py` holds in sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any
from unittest import mock

import pytest
from django.template import Context, Template
from django.test import Client
from django.test.signals import template_rendered
from django.urls import URLPattern

from config import doors
from config.entry import may
from config.middleware.projects import LISTENING
from config.middleware.security import policy
from notifications.people.project import Project
from notifications.staff.team import ROLE_OF_SCOPE, Role
from tests.api.caller import Caller
from tests.roles.every_page import GOES_OUT, HEADERS, address, endpoints, methods_of, pages
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db


def is_a_persons(route: str) -> bool:
    """It takes an inbox token and no key."""
    return route.removeprefix(doors.API) in doors.OF_A_PERSON


# --- Nothing is missing, nothing is left over ---------------------------------------------------


def test_every_page_has_a_door() -> None:
    missing = {str(page.name) for page in pages() if (page.name or "") not in doors.PAGES}
    assert not missing, f"say in config/doors.py who may open: {', '.join(sorted(missing))}"


def test_every_endpoint_and_method_has_a_scope() -> None:
    missing = [
        f"{method} {route}"
        for route, endpoint in endpoints()
        for method in methods_of(endpoint)
        if doors.scope_of(route, method) is None
        and not doors.is_a_persons(route, method)
        and not doors.is_anybodys(route)
    ]
    assert not missing, f"say in config/doors.py which scope opens: {', '.join(sorted(missing))}"


def test_no_scope_stands_at_a_door_that_is_not_there() -> None:
    routes = {route.removeprefix(doors.API) for route, _ in endpoints()}
    whose = Counter([*doors.ENDPOINTS, *doors.OF_A_PERSON, *doors.OF_ANYBODY])
    assert set(whose) == routes
    assert set(whose.values()) == {1}, "a door is for one or for the other"


def test_only_receipts_are_taken_of_anybody(client: Client) -> None:
    assert set(doors.OF_ANYBODY) == {"receipts"}
    for headers in ({}, {"Authorization": "Bearer nobody"}):
        reply = client.post("/api/v1/receipts", "{", content_type="text/plain", headers=headers)
        assert reply.status_code == 421
        assert reply.json()["type"] == "urn:carillon:elsewhere" and "feed" in reply.json()["detail"]
        assert client.get("/api/v1/receipts", headers=headers).status_code == 405


# --- Every page, every role ---------------------------------------------------------------------


def headers_of(page: URLPattern) -> dict[str, str]:
    if page.name not in LISTENING:
        return HEADERS
    return {**HEADERS, "Content-Security-Policy": policy(feed="http://testserver:8001")}


def named(template: Template, context: Context) -> str:
    """Instead of rendering: the view has run, and the test client learns the template’s name."""
    template_rendered.send(sender=template, template=template, context=context)
    return ""


def tried(client: Client, page: URLPattern, url: str, role: Role) -> Iterator[str]:
    """What differs from the table. Pages are rendered for the viewer and the owner; the page that
    refuses is the same everywhere and has its own test."""
    for method in ("GET", "POST"):
        rendered = role in (Role.VIEWER, Role.OWNER) and may(role, str(page.name), method)
        with nullcontext() if rendered else mock.patch.object(Template, "_render", named):
            reply: Any = client.generic(method, url)
        # A page may refuse everybody, with Django's own 403: nobody edits the audit trail.
        turned_away = any(used.name == "admin/no_entry.html" for used in reply.templates)
        headers = headers_of(page)
        if lacking := [name for name, value in headers.items() if reply.get(name) != value]:
            yield f"{method} {page.name}: {reply.status_code} without {', '.join(lacking)}"
        if method == "GET" and "no-store" not in reply.get("Cache-Control", ""):
            yield f"GET {page.name} may be kept by the browser"
        if reply.status_code >= 500:
            yield f"{method} {page.name}: {reply.status_code}"
        if "/login/" in reply.get("Location", ""):
            yield f"{method} {page.name} asks {role} to log in"
        if turned_away == may(role, str(page.name), method):
            yield f"{method} {page.name} answers {role} with {reply.status_code}"


@pytest.mark.parametrize("role", list(Role))
def test_each_page_opens_for_its_roles_and_for_no_other_and_is_not_kept(
    role: Role, rows: Mapping[str, int | str]
) -> None:
    client = logged_in(role)
    wrong = [
        found
        for page in pages()
        if page.name not in GOES_OUT and (url := address(page, rows)) is not None
        for found in tried(client, page, url, role)
    ]
    assert wrong == []


@pytest.mark.parametrize("role", list(Role))
def test_a_key_opens_what_the_role_that_made_it_may_do(role: Role, project: Project) -> None:
    scopes = [scope.value for scope, needed in ROLE_OF_SCOPE.items() if role.covers(needed)]
    call = Caller(project, scopes)
    wrong = []
    for route, endpoint in endpoints():
        path = re.sub("<path:.*?>", "u1", route.removeprefix(doors.API).replace("<int:pk>", "1"))
        if is_a_persons(route):
            answers = {call(method, path, {}).status_code for method in methods_of(endpoint)}
            wrong += [] if answers == {401} else [f"{role}: {path} answered {answers}"]
            continue
        for method in methods_of(endpoint) if not doors.is_anybodys(route) else ():
            scope = doors.scope_of(route, method)
            refused = call(method, path, {} if method in ("POST", "PUT", "PATCH") else None)
            if (refused.status_code == 403) == (scope in scopes):
                wrong.append(f"{role}: {method} {path} answered {refused.status_code}")
    assert wrong == []
