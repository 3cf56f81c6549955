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
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from campaigns.runs.messages.many import accept_many
from campaigns.test_sends.sent_test import SentTest
from campaigns.texts.template import Template as Text
from config import doors
from config.entry import may
from config.middleware.projects import LISTENING
from config.middleware.security import CONTENT_POLICY, policy
from notifications.people.attributes import Attribute
from notifications.people.consent.category import Category
from notifications.people.consent.saying import Word, say
from notifications.people.consent.suppression import Suppression, suppress
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.access import ApiKey
from notifications.staff.team import ROLE_OF_SCOPE, Role
from tests.api.caller import Caller
from tests.given.alerts import make_alert
from tests.given.builders import make_automation, make_people, make_run, make_snippet
from tests.given.importing import upload
from tests.rehearsals.rehearsing import ask
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
GOES_OUT = {"logout"}  # would end the walk
HEADERS = {  # of every answer, a refusal and a page that is not there too
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}


def walk(patterns: Any, route: str = "", spaces: tuple[str, ...] = ()) -> Iterator[Any]:
    """(namespaces, whole route, pattern) of every address."""
    for pattern in patterns:
        here = route + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inside = (*spaces, pattern.namespace) if pattern.namespace else spaces
            yield from walk(pattern.url_patterns, here, inside)
        elif isinstance(pattern, URLPattern):
            yield spaces, here, pattern


def pages() -> list[URLPattern]:
    return [found for spaces, _, found in walk(get_resolver().url_patterns) if "admin" in spaces]


def endpoints() -> list[tuple[str, Any]]:
    everything = walk(get_resolver().url_patterns)
    return [(route, found) for _, route, found in everything if route.startswith(doors.API)]


def is_a_persons(route: str) -> bool:
    """It takes an inbox token and no key."""
    return route.removeprefix(doors.API) in doors.OF_A_PERSON


def methods_of(endpoint: URLPattern) -> set[str]:
    view = endpoint.callback.view_class  # type: ignore[attr-defined]
    return {name.upper() for name in view.http_method_names if hasattr(view, name)} - {"OPTIONS"}


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


def make_message(project: Project, contact_id: int) -> str:
    text = Text(title="Hello", body="You have mail").frozen()
    one = {"content": text, "on_unknown": "resend", "ttl_seconds": 60}
    return accept_many(project.pk, one, [contact_id]).id


def make_test(project: Project) -> SentTest:
    return SentTest.objects.create(
        project=project, name="Hello", content={}, ttl_seconds=60, by="user:ada"
    )


@pytest.fixture
def rows(project: Project) -> Mapping[str, int | str]:
    """One row of every kind, so that a page that may be seen is really drawn."""
    [device] = make_people(project, 1)
    run = make_run(project, advanced=False)
    said = make_snippet(project, "footer", "Shop Ltd.", ko="샵")
    key, _ = ApiKey.issue(project, "shop")
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    now, no = timezone.now(), Word(device.contact.external_id, "offers", False)
    say(project, [no], source="api", by=f"key:{key.prefix}", now=now)
    suppress(project, ["bob"], reason="complaint", by="user:ada", now=now)
    audit.record("user:ada", "launched", f"run {run.pk}", project=project)
    ready = upload(project, "id,first name\nu1,Ada\n")
    return {
        "campaigns_alerts_of_run": run.pk,
        "campaigns_alert_": make_alert(project, run=run).pk,
        "campaigns_campaign": run.campaign_id,
        "campaigns_audience": run.campaign.audience_id,
        "campaigns_snippet": said.pk,
        "snippet_": said.pk,
        "campaigns_template": run.campaign.template_id,
        "template_languages": run.campaign.template_id,
        "template_translations": run.campaign.template_id,
        "campaigns_automation": make_automation(project, on=False).pk,
        "campaigns_message_": make_message(project, device.contact_id),
        "rehearsals_of_campaign": run.campaign_id,
        "rehearsal_": ask(run.campaign).pk,
        "campaigns_run": run.pk,
        "run": run.pk,
        "audience_size": run.campaign.audience_id,
        "notifications_attribute": Attribute.objects.create(project=project, name="city").pk,
        "notifications_contact": device.contact_id,
        "notifications_device": device.pk,
        "notifications_category": offers.pk,
        "notifications_suppression": Suppression.objects.get().pk,
        "notifications_project": project.pk,
        "retention": project.pk,
        "notifications_apikey": key.pk,
        "notifications_auditentry": audit.AuditEntry.objects.latest("pk").pk,
        "notifications_import": ready.pk,
        "import_": ready.pk,
        "test_shown": make_test(project).pk,
        "auth_user": somebody(Role.VIEWER, "bob").pk,
    }


def address(page: URLPattern, rows: Mapping[str, int | str]) -> str | None:
    """Where this page is for the one row there is; None for what has no name."""
    if page.name is None:
        return None
    about = next((pk for kind, pk in rows.items() if page.name.startswith(kind)), 1)
    special = {"app_label": "campaigns", "content_type_id": 1, "url": "nowhere"}
    values = {name: special.get(name, about) for name in page.pattern.regex.groupindex}
    if page.name == "auth_user_password_change":
        return reverse("admin:auth_user_password_change", args=[about])
    return reverse(f"admin:{page.name}", kwargs=values)


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
