"""Going from one project to another, and what was left open or typed in the first."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from campaigns.audiences.audience import Audience
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/admin/"}


# --- Going from one to the other ----------------------------------------------------------------


def test_the_chosen_project_is_kept_shown_and_ticked(desk: Desk, museum: Project) -> None:
    page = desk.client.get("/admin/").content.decode()
    assert re.search(r'aria-current="true">Shop', page) and "Museum" in page
    reply: Any = desk.client.post(
        reverse("admin:project_switch"), {"go_to_project": museum.pk}, follow=True
    )
    assert "You are working in “Museum” now." in text_of(reply)
    page = desk.client.get("/admin/campaigns/run/").content.decode()
    assert re.search(r'aria-current="true">Museum', page)


def test_looking_changes_nothing_and_nobody_is_sent_elsewhere(desk: Desk, museum: Project) -> None:
    url = reverse("admin:project_switch")
    assert desk.client.get(url, {"go_to_project": museum.pk}).status_code == 405
    reply = desk.client.post(url, {"go_to_project": museum.pk, "next": "https://example.com/"})
    assert reply["Location"] == "/admin/"
    reply = desk.client.post(url, {"go_to_project": "1' OR 1=1", "next": "/admin/campaigns/run/"})
    assert reply["Location"] == "/admin/campaigns/run/"
    assert "Museum" in desk.open("index")


def test_a_form_opened_in_another_project_is_saved_there_or_not_at_all(
    desk: Desk, project: Project, museum: Project
) -> None:
    """Two tabs: the form was opened in the shop, then the other tab went to the museum."""
    url = reverse("admin:campaigns_template_add")
    form = {"name": "Two\nlines", "title": "“Hi” <b>", "settled_project": project.pk, "_save": ""}
    desk.go_to(museum)
    reply: Any = desk.client.post(url, {**form, "body": "See you", "tags": ["a", "b"]})
    assert reply.status_code == 409 and "Nothing was saved" in text_of(reply)
    html = reply.content.decode()
    again = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', html, re.DOTALL)
    typed = [(name, unescape(value)) for name, value in again]
    assert ("title", "“Hi” <b>") in typed and [v for n, v in typed if n == "tags"] == ["a", "b"]
    assert f'name="go_to_project" value="{project.pk}"' in html
    desk.go_to(project)
    assert desk.client.post(url, dict(typed)).status_code in (200, 302)


def test_a_question_beside_a_form_says_that_one_has_gone_elsewhere(
    desk: Desk, museum: Project
) -> None:
    url = reverse("admin:audience_count")
    reply = desk.client.post(url, {"project": museum.pk, "rules": '{"all": []}'}, headers=HTMX)
    assert reply.status_code == 200
    assert "You are working in “Shop” now; this page is of “Museum”." in text_of(reply)


def test_a_new_row_belongs_to_the_project_one_works_in(desk: Desk, museum: Project) -> None:
    desk.go_to(museum)
    text = desk.save("campaigns_audience_add", name="Night owls", kind="rules", rules="")
    assert "Night owls" in text
    assert Audience.objects.get().project == museum


def test_whoever_makes_a_project_works_in_it(desk: Desk, project: Project) -> None:
    form = {"name": "Books", "slug": "books", "timezone": "UTC", "firebase_project_id": "books-1"}
    pace = {"quota_per_minute": 600_000, "ramp_seconds": 60}
    said = desk.save("notifications_project_add", **form, **pace)
    assert "You are working in “Books” now." in said
    page = desk.client.get("/admin/campaigns/run/").content.decode()
    assert re.search(r'aria-current="true">Books', page)


# --- While there is no choice -------------------------------------------------------------------


def test_the_pages_show_no_project_switch_for_a_single_project(
    desk: Desk, project: Project
) -> None:
    for page in ("index", "campaigns_run_changelist", "campaigns_campaign_add", "search"):
        html = desk.client.get(reverse(f"admin:{page}")).content.decode()
        assert "go_to_project" not in html and "n-project" not in html, page


def test_the_pages_open_without_any_project(desk: Desk) -> None:
    assert "Overview" in desk.open("index")
    desk.open("campaigns_campaign_changelist")
    desk.open("campaigns_calendar")


def test_a_viewer_may_go_to_another_project_too(museum: Project) -> None:
    client = logged_in(Role.VIEWER)
    assert Desk(client).go_to(museum).status_code == 302
    assert re.search(r'aria-current="true">Museum', client.get("/admin/").content.decode())
