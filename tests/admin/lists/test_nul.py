"""A NUL, which PostgreSQL cannot store or look for, is read by no page: nobody typed it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from notifications.staff.login_throttle import Guesses
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_contact, make_run

pytestmark = pytest.mark.django_db
NUL = "a\x00b"


def content_of(reply: Any) -> bytes:
    return b"".join(reply) if reply.streaming else bytes(reply.content)


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("run_deliveries", {"person": NUL}),
        ("run_csv", {"person": NUL}),
        ("run_why", {"person": NUL}),
        ("campaigns_campaign_changelist", {"tag": "\x00"}),
        ("campaigns_campaign_changelist", {"state": "\x00"}),
        ("campaigns_campaign_changelist", {"q": NUL}),
        ("notifications_device_changelist", {"platform__exact": "\x00"}),
        ("notifications_contact_changelist", {"q": NUL}),
        ("audience_values", {"field": "attributes.plan", "typed": NUL}),
        ("search", {"s": NUL}),
    ],
)
def test_a_nul_in_an_address_is_left_out(
    desk: Desk, project: Project, page: str, query: dict[str, Any]
) -> None:
    run = make_run(project, advanced=False, tags=["spring"])
    args = [run.pk] if page.startswith("run_") else []
    reply = desk.client.get(reverse(f"admin:{page}", args=args), query)
    assert reply.status_code in (200, 302)
    content_of(reply)  # a file is read from the database while it leaves


@pytest.mark.parametrize(
    "page", ["template_preview", "template_variables", "campaign_what", "audience_person"]
)
def test_a_nul_in_a_form_is_left_out(desk: Desk, project: Project, page: str) -> None:
    make_contact(project, external_id="ab")
    asked = {"preview_person": NUL, "person": NUL}
    texts = {"template_from": "make", "title": "Hello", "rules": '{"all": []}'}
    reply: Any = desk.post(page, project=project.pk, **asked, **texts)
    assert reply.status_code == 200
    assert "nobody" not in text_of(reply)


def test_a_tag_is_kept_without_its_nul(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    tick: dict[str, Any] = {"action": "tag_many", "_selected_action": [campaign.pk]}
    desk.post("campaigns_campaign_changelist", **tick, confirmed="yes", tags=NUL)
    assert Campaign.objects.get().tags == ["ab"]


def test_a_log_in_with_a_nul_is_a_wrong_one(client: Client, db: None) -> None:
    reply = client.post(reverse("admin:login"), {"username": NUL, "password": NUL})
    assert reply.status_code == 200 and Guesses.objects.exists()
