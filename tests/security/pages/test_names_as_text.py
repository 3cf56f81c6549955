"""Whatever somebody called something: no answer of any page holds it as markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.api_key import ApiKey
from notifications.staff.team import Role
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_template,
)
from tests.given.importing import upload
from tests.roles.every_page import address, pages
from tests.roles.people import somebody

pytestmark = pytest.mark.django_db
PROBE = "<xss-probe>\"onxss='1' {{ 7|add:35 }} {% now 'Y' %} \u202e🔔 javascript:alert(1)"
FIELDS = [
    "name",
    "title",
    "body",
    "image",
    "link",
    "rules",
    "data",
    "locales",
    "options",
    "person",
    "preview_person",
    "kind",
    "timezone",
    "at",
    "tags",
    "schedule_kind",
    "rate_per_second",
    "external_id",
    "slug",
]
BESIDE = [
    "audience_count",
    "audience_people",
    "audience_person",
    "template_preview",
    "template_variables",
    "campaign_who",
    "campaign_what",
    "campaign_when",
]
FORMS = [
    "campaigns_campaign",
    "campaigns_audience",
    "campaigns_template",
    "notifications_contact",
    "notifications_device",
    "notifications_project",
    "notifications_apikey",
    "auth_user",
]
LINKS = ("href", "src", "action")
MARKUP = ("<xss-probe", "\"onxss='", "'onxss=")


@pytest.fixture
def project(db: None) -> Project:
    make_project(name=f"2 {PROBE}"[:100])
    return make_project(name=PROBE[:100])


@pytest.fixture
def rows(project: Project) -> dict[str, int]:
    contact = make_contact(
        project, external_id=PROBE, attributes={"first_name": PROBE, PROBE: [PROBE]}
    )
    device = make_device(contact, "<xss-probe>\"onxss='1'", app_version=PROBE[:20])
    make_audience(project, name=f"list {PROBE}"[:100], kind="list")
    campaign = make_campaign(
        project,
        name=PROBE[:100],
        tags=["<xss-probe>", "\"onxss='1'"],
        audience=make_audience(project, name=PROBE[:100]),
        template=make_template(
            project,
            name=PROBE[:100],
            title="{{ first_name }}",
            body="{% raw %}" + PROBE + "{% endraw %}",
            link="https://example.com/?a=\"onxss='1'<xss-probe>",
            data={"note": "<xss-probe>"},
            locales={"ko": {"title": "<xss-probe>", "body": "\"onxss='1'"}},
        ),
    )
    run = control.launch(campaign, by=f"user:{PROBE[:40]}", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    file = f"id,{PROBE.replace(',', '')}\nu1,{PROBE.replace(',', '')}\n"
    ready = upload(project, file, name=f"{PROBE.replace(chr(0x202E), '')[:60]}.csv")
    key, _ = ApiKey.issue(project, PROBE[:60], ["runs"])
    audit.record(f"user:{PROBE[:40]}", "launched", PROBE[:80], project=project)
    user = User.objects.create_user("bob", first_name=PROBE[:60], last_name="<xss-probe>")
    return {
        "campaigns_campaign": campaign.pk,
        "campaign_review": campaign.pk,
        "campaigns_audience": campaign.audience_id,
        "campaigns_template": campaign.template_id,
        "template_hosts": project.pk,
        "template": campaign.template_id,
        "campaigns_run": run.pk,
        "run": run.pk,
        "person_sent": contact.pk,
        "person_messages": contact.pk,
        "notifications_contact": contact.pk,
        "notifications_device": device.pk,
        "notifications_import": ready.pk,
        "import_": ready.pk,
        "notifications_project": project.pk,
        "notifications_apikey": key.pk,
        "notifications_auditentry": audit.AuditEntry.objects.latest("pk").pk,
        "auth_user": user.pk,
    }


@pytest.fixture
def owner(rows: dict[str, int], project: Project) -> Client:
    client = Client()
    client.force_login(somebody(Role.OWNER, "olga"))
    client.post(reverse("admin:project_switch"), {"go_to_project": project.pk})
    return client


def body_of(reply: Any) -> str:
    content = b"".join(reply.streaming_content) if reply.streaming else reply.content
    return str(content.decode())


def places(html: str) -> list[int]:
    return [html.index(found) for found in MARKUP if found in html]


def is_read_as_a_page(reply: Any) -> bool:
    return str(reply.get("Content-Type", "")).startswith("text/html")


def asked(rows: dict[str, int], project: Project) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every page there is, and what forms ask beside themselves, with the probe in each field."""
    for page in pages():
        url = None if page.name == "logout" else address(page, rows)
        if url is not None:
            yield "GET", url, {}
            yield "GET", url, {"q": PROBE, "s": PROBE, "person": PROBE, "step": PROBE}
    typed = dict.fromkeys(FIELDS, PROBE)
    for name in BESIDE:
        for more in ({}, {"rules": '{"all": []}'}, {"template_from": "make", **rows}):
            yield "POST", reverse(f"admin:{name}"), {**typed, "project": project.pk, **more}
    for model in FORMS:
        yield "POST", reverse(f"admin:{model}_add"), typed
        yield "POST", reverse(f"admin:{model}_change", args=[rows[model]]), typed


def test_no_answer_holds_a_name_as_markup_or_makes_a_link_of_what_somebody_wrote(
    owner: Client, rows: dict[str, int], project: Project
) -> None:
    raw, linked, shown = [], [], 0
    for method, url, values in asked(rows, project):
        reply: Any = owner.get(url, values) if method == "GET" else owner.post(url, values)
        assert reply.status_code < 500, (method, url)
        if not is_read_as_a_page(reply):
            assert reply["X-Content-Type-Options"] == "nosniff", url
            continue
        html = body_of(reply)
        shown += "xss-probe" in html
        raw += [(url, html[max(0, at - 80) :][:120]) for at in places(html)]
        linked += [url for how in LINKS if f'{how}="javascript:' in html.lower()]
        assert "42 javascript" not in html, "it was taken for a template"
    assert raw == []
    assert linked == []
    assert shown > 60, "the names are on the pages, to be read"
