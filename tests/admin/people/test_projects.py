"""Several projects: one is worked in, kept in the session, and nothing of another is shown in it.

Everything of the other project is called “Lindworm” here. The walk goes over every registered page,
so that a new one that forgets its project is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from campaigns.planning.campaign import Campaign
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from config.middleware import projects
from notifications.admin.ui.page import Page
from notifications.images.image import Image
from notifications.people.attributes import Attribute
from notifications.people.consent.category import Category
from notifications.people.consent.suppression import Suppression
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.api_key import ApiKey
from tests.admin.desk import Desk, registered, text_of
from tests.given.alerts import make_alert
from tests.given.builders import (
    make_audience,
    make_automation,
    make_contact,
    make_device,
    make_run,
    make_snippet,
    make_template,
)
from tests.given.endpoints import make_endpoint
from tests.given.importing import upload
from tests.rehearsals.shared import ask
from tests.roles.every_page import address, make_test, pages

pytestmark = pytest.mark.django_db
NAME = "Lindworm"
# They name none of a project; a message is looked for in the one that is chosen.
NO_ROWS = {"app_label", "content_type_id", "url", "number", "id", "name", "call_id", "at"}
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/admin/"}


@pytest.fixture
def rows(museum: Project) -> dict[str, int]:
    """One of everything in the museum, and none in the shop."""
    person = make_contact(museum, external_id=f"{NAME}-1")
    device = make_device(person, f"{NAME}:APA91bTail")
    run = make_run(
        museum,
        advanced=False,
        name=f"{NAME} night",
        audience=make_audience(museum, name=f"{NAME} friends"),
        template={"name": f"{NAME} text", "title": NAME},
        schedule_kind="at",
        at=timezone.now() + timedelta(minutes=30),
        tags=[NAME.lower()],
    )
    size = {"width": 64, "height": 32, "size": 200}
    picture = Image.objects.create(
        project=museum, name="lindworm.png", title=f"{NAME}.png", by="user:ada", **size
    )
    ready = upload(museum, "id,first name\nu1,Ada\n", name=f"{NAME} people.csv")
    known = Attribute.objects.create(project=museum, name="lindworm_age")
    key, _ = ApiKey.issue(museum, f"{NAME} backend")
    kind = Category.objects.create(project=museum, name=f"{NAME} news", slug="lindworm")
    never = Suppression.objects.create(
        project=museum, external_id=f"{NAME}-2", at=timezone.now(), by="user:ada"
    )
    audit.record("user:ada", "launched", f"run {NAME}", project=museum)
    said = make_snippet(museum, "lindworm", f"{NAME} Ltd")
    automation = make_automation(museum, name=f"{NAME} cart")
    told = make_endpoint(museum, "https://93.184.216.34/", name=f"{NAME} hooks")
    return {
        "automation": automation.pk,
        "campaigns_automation": automation.pk,
        "campaigns_alerts_of_run": run.pk,
        "campaigns_alert_": make_alert(museum, run=run).pk,
        "campaigns_campaign": run.campaign_id,
        "campaign_left_out": run.campaign_id,
        "campaign_review": run.campaign_id,
        "campaigns_series_move": run.campaign_id,
        "campaign_text_check": run.campaign_id,
        "campaigns_audience": run.campaign.audience_id,
        "audience_size": run.campaign.audience_id,
        "audience_refill": run.campaign.audience_id,
        "campaigns_snippet": said.pk,
        "snippet": said.pk,
        "campaigns_template": run.campaign.template_id,
        "template": run.campaign.template_id,
        "rehearsals_of_campaign": run.campaign_id,
        "rehearsal_": ask(run.campaign).pk,
        "campaigns_run": run.pk,
        "campaigns_run_move": run.pk,
        "run": run.pk,
        "person_export": person.pk,
        "person_sent": person.pk,
        "person_messages": person.pk,
        "notifications_contact": person.pk,
        "notifications_device": device.pk,
        "notifications_category": kind.pk,
        "notifications_suppression": never.pk,
        "notifications_import": ready.pk,
        "notifications_image": picture.pk,
        "import_": ready.pk,
        "test_shown": make_test(museum).pk,
        "notifications_attribute": known.pk,
        "notifications_apikey": key.pk,
        "endpoint": told.pk,
        "notifications_endpoint": told.pk,
        "notifications_auditentry": audit.AuditEntry.objects.latest("pk").pk,
    }


def lists() -> list[str]:
    """The name of every registered page whose rows belong to a project."""
    found = registered().items()
    return [
        f"{model._meta.app_label}_{model._meta.model_name}"
        for model, page in found
        if isinstance(page, Page) and page.has_project
    ]


def everywhere() -> Iterator[str]:
    """Every page, part and answer that shows rows without being told which."""
    for name in lists():
        yield reverse(f"admin:{name}_changelist")
        yield reverse(f"admin:{name}_changelist") + "?q=indw"
        yield reverse(f"admin:{name}_changelist") + f"?q={NAME[:-1]}"
    for name in ("audience", "template", "campaign"):
        yield reverse(f"admin:campaigns_{name}_add")
    for name in ("index", "campaigns_overview", "overview_health", "campaigns_calendar"):
        yield reverse(f"admin:{name}")
    yield reverse("admin:campaigns_campaign_changelist") + "?shelf=all"
    yield reverse("admin:operations")
    for term in (NAME[:4], NAME[:-1], "APA91bTail"):
        yield reverse("admin:search") + f"?s={term}"


def named(page: URLPattern) -> str | None:
    """The first part of the address that names a row of a project, if there is one."""
    parts = page.pattern.regex.groupindex
    return next((part for part in parts if projects.model_of(str(page.name), part)), None)


def shows_lindworms(client: Client, url: str) -> bool:
    reply = client.get(url)
    assert reply.status_code == 200, (url, reply.status_code)
    shown = b"".join(reply.streaming_content) if reply.streaming else reply.content  # type: ignore[attr-defined]
    # What was searched for is repeated: only the whole name is a row.
    return bool(re.search(f"{NAME}[ -:]|{NAME}<|lindworm", shown.decode()))


# --- Nothing of another project -----------------------------------------------------------------


def test_no_page_shows_anything_of_another_project(desk: Desk, rows: dict[str, int]) -> None:
    assert len(lists()) >= 8
    assert [url for url in everywhere() if shows_lindworms(desk.client, url)] == []


def test_the_same_pages_show_it_once_one_goes_there(
    desk: Desk, rows: dict[str, int], museum: Project
) -> None:
    """Or the walk above would look at nothing."""
    desk.go_to(museum)
    shown = {url for url in everywhere() if shows_lindworms(desk.client, url)}
    assert {reverse(f"admin:{name}_changelist") for name in lists()} <= shown
    assert {reverse("admin:index"), reverse("admin:operations")} <= shown
    assert reverse("admin:search") + "?s=APA91bTail" in shown


def test_every_part_of_an_address_is_known_to_name_a_row_or_none(rows: dict[str, int]) -> None:
    """A new page that names a row otherwise must say so in `config/middleware/projects.py`; what
    names none is listed here."""
    known = {*projects.ABOUT, *NO_ROWS, "object_id"}
    strange = {
        (str(page.name), part)
        for page in pages()
        for part in page.pattern.regex.groupindex
        if part not in known and page.name not in projects.OWN_PAGES
    }
    assert strange == set()


def test_no_address_opens_a_row_of_another_project(
    desk: Desk, rows: dict[str, int], museum: Project
) -> None:
    about = [page for page in pages() if page.name and named(page)]
    assert len(about) > 50
    wrong = []
    for page in about:
        url = address(page, rows)
        assert url is not None
        for method in ("GET", "POST"):
            reply: Any = desk.client.generic(method, url)
            if reply.status_code != 409 or b"This belongs to the project" not in reply.content:
                wrong.append(f"{method} {url}: {reply.status_code}")
    assert wrong == []
    assert not Run.objects.exclude(state="scheduled").exists()


def test_the_number_beside_the_runs_counts_this_project_only(
    desk: Desk, rows: dict[str, int], museum: Project
) -> None:
    Run.objects.get().pause(Cause.LATE)
    assert "Runs task_alt" in desk.open("index")
    desk.go_to(museum)
    assert "Runs 1 task_alt" in desk.open("index")


def test_a_link_into_another_project_offers_to_go_there(
    desk: Desk, rows: dict[str, int], museum: Project
) -> None:
    url = reverse("admin:campaigns_run_change", args=[rows["campaigns_run"]])
    text = text_of(desk.client.get(url))
    assert "This belongs to the project “Museum”" in text and "You are working in “Shop”" in text
    assert NAME not in text
    answer = {"go_to_project": museum.pk, "next": url}
    reply: Any = desk.client.post(reverse("admin:project_switch"), answer, follow=True)
    assert reply.status_code == 200 and f"{NAME} night" in text_of(reply)


def test_a_page_left_open_asks_once_one_has_gone_elsewhere(
    desk: Desk, rows: dict[str, int]
) -> None:
    url = reverse("admin:run_live", args=[rows["run"]])
    reply = desk.client.get(url, headers=HTMX)
    assert (reply.content, reply["HX-Redirect"]) == (b"", "/admin/")


def test_every_form_says_in_which_project_it_was_opened(
    desk: Desk, rows: dict[str, int], museum: Project
) -> None:
    """Or two tabs would put into one project what was written in the other."""
    desk.go_to(museum)
    kept = re.compile(rf'<form .*name="settled_project" value="{museum.pk}".*</form>', re.DOTALL)
    asked, silent = 0, []
    for name in lists():
        for url in (
            reverse(f"admin:{name}_add"),
            reverse(f"admin:{name}_change", args=[rows[name]]),
        ):
            reply = desk.client.get(url)
            if reply.status_code == 200 and b'name="_save"' in reply.content:
                asked += 1
                if not kept.search(reply.content.decode()):
                    silent.append(url)
    assert asked >= 8 and silent == []


def test_a_campaign_is_offered_only_its_own_projects_texts(
    desk: Desk, rows: dict[str, int], project: Project
) -> None:
    make_template(project, name="Shop text")
    page = desk.client.get(reverse("admin:campaigns_campaign_add")).content.decode()
    assert "Shop text" in page and f"{NAME} text" not in page
    values = {"name": "Mixed", "audience": rows["campaigns_audience"], "schedule_kind": "now"}
    desk.save("campaigns_campaign_add", **values)
    assert not Campaign.objects.filter(name="Mixed").exists()
