"""Every page and endpoint that the addresses name, and one row for each page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from campaigns.runs.messages.bulk_messages import accept_many
from campaigns.test_sends.models import SentTest
from campaigns.texts.template import Template as Text
from config import doors
from config.middleware.security import CONTENT_POLICY
from notifications.people.attributes import Attribute
from notifications.people.consent.category import Category
from notifications.people.consent.record import ConsentAnswer, record_answers
from notifications.people.consent.suppression import Suppression, suppress
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.api_key import ApiKey
from notifications.staff.team import Role
from tests.given.alerts import make_alert
from tests.given.builders import make_automation, make_people, make_run, make_snippet
from tests.given.importing import upload
from tests.rehearsals.shared import ask
from tests.roles.people import somebody

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


def methods_of(endpoint: URLPattern) -> set[str]:
    view = endpoint.callback.view_class  # type: ignore[attr-defined]
    return {name.upper() for name in view.http_method_names if hasattr(view, name)} - {"OPTIONS"}


def make_message(project: Project, contact_id: int) -> str:
    text = Text(title="Hello", body="You have mail").frozen()
    one = {"content": text, "on_unknown": "resend", "ttl_seconds": 60}
    return accept_many(project.pk, one, [contact_id]).id


def make_test(project: Project) -> SentTest:
    return SentTest.objects.create(
        project=project, name="Hello", content={}, ttl_seconds=60, by="user:ada"
    )


def make_rows(project: Project) -> Mapping[str, int | str]:
    """One row of every kind, so that a page that may be seen is really drawn."""
    [device] = make_people(project, 1)
    run = make_run(project, advanced=False)
    said = make_snippet(project, "footer", "Shop Ltd.", ko="샵")
    key, _ = ApiKey.issue(project, "shop")
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    now, no = timezone.now(), ConsentAnswer(device.contact.external_id, "offers", False)
    record_answers(project, [no], source="api", by=f"key:{key.prefix}", now=now)
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
