"""One search: campaigns, audiences and templates by name, people and devices by an index, runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.urls import reverse

from notifications.people.address_suffix import ending_in
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_run,
    make_snippet,
    make_template,
)
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db


def found(desk: Desk, term: str) -> list[tuple[str, str]]:
    """(kind, title) of each answer in the dialog."""
    reply: Any = desk.client.get(
        reverse("admin:search"), {"s": term}, headers={"HX-Request": "true"}
    )
    assert reply.status_code == 200
    return [(kind.title, one.title) for kind in reply.context["kinds"] for one in kind.found]


def test_names_are_found_by_any_part_of_them(desk: Desk, project: Project) -> None:
    audience = make_audience(project, name="Spring birds")
    template = make_template(project, name="It is spring")
    make_campaign(project, name="Early SPRING sale", audience=audience, template=template)
    make_snippet(project, "spring_footer", "Shop")
    assert found(desk, "spring") == [
        ("Campaigns", "Early SPRING sale"),
        ("Audiences", "Spring birds"),
        ("Templates", "It is spring"),
        ("Snippets", "spring_footer"),
    ]


def test_people_are_found_by_the_start_of_their_id_and_devices_by_their_end(
    desk: Desk, project: Project
) -> None:
    person = make_contact(project, external_id="shop-77")
    make_contact(project, external_id="the-shop-77")
    device = make_device(person, "fcm:APA91bHPRgkF3JUikC4ENAHEeMrd41Zxv3hVZjC9KtT8OvPVGJ-hQMRKRrZuJAEcl7B338qju59zJMjw2DELjzEvxwYv7hH5Ynpc1")  # noqa: E501  # fmt: skip
    assert found(desk, "SHOP-7") == [("People", "shop-77")]
    assert found(desk, "hH5Ynpc1") == [("Devices", str(device))]
    assert found(desk, device.address[-60:]) == [("Devices", str(device))]
    assert found(desk, device.address) == [("Devices", str(device))]
    assert found(desk, "x" + device.address[-60:]) == []
    assert found(desk, "Ynpc1") == []  # five characters would fit too many
    assert found(desk, "77") == []


def test_runs_are_found_by_their_number_however_it_is_written(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="Autumn")
    for written in (f"{run.pk}", f"#{run.pk}", f"run {run.pk}", f"Run #{run.pk}"):
        assert ("Runs", str(run)) in found(desk, written), written
    assert not [kind for kind, _ in found(desk, f"{run.pk}0") if kind == "Runs"]


def test_pages_are_found_by_name_and_only_those_that_open_for_this_role(
    desk: Desk, project: Project
) -> None:
    assert ("Pages", "API keys") in found(desk, "api k")
    assert ("Pages", "Calendar") in found(desk, "calen")
    viewer = Desk(logged_in(Role.VIEWER))
    assert found(viewer, "api k") == [] and ("Pages", "Calendar") in found(viewer, "calen")


def test_a_search_without_an_answer_says_what_can_be_searched_for(desk: Desk) -> None:
    for term, said in (("zzz", "Nothing found for “zzz”."), ("", "You can search for:")):
        text = desk.open("search", s=term)
        assert said in text and "the start of their external id" in text
    assert "Nothing found for" in desk.open("search", s="%_\x00' OR 1=1 --")


def test_a_name_is_shown_and_never_run(desk: Desk, project: Project) -> None:
    make_campaign(project, name="<img src=x onerror=alert(1)>")
    page = desk.client.get(reverse("admin:search"), {"s": "<img"}).content.decode()
    assert "<img src=x" not in page and "&lt;img src=x" in page


def test_more_than_a_handful_leads_to_the_list(desk: Desk, project: Project) -> None:
    for number in range(8):
        make_contact(project, external_id=f"bird-{number}")
    page = desk.client.get(reverse("admin:search"), {"s": "bird"}).content.decode()
    assert "/admin/notifications/contact/?q=bird" in page and len(found(desk, "bird")) == 6


def test_every_page_has_the_search_and_says_its_keys(desk: Desk, project: Project) -> None:
    for page in ("index", "campaigns_campaign_changelist", "second_factor", "operations"):
        html = desk.client.get(reverse(f"admin:{page}")).content.decode()
        assert '<dialog id="find"' in html and 'aria-keyshortcuts="Control+K Meta+K"' in html, page


def test_the_search_needs_no_redis(desk: Desk, project: Project, settings: LazySettings) -> None:
    settings.CACHES = {
        "default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    }
    make_campaign(project, name="Spring")
    assert ("Campaigns", "Spring") in found(desk, "spri")


@pytest.fixture
def many(project: Project) -> None:
    """So many that PostgreSQL does not just read them all."""
    make_people(project, 5000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_contact, notifications_device")


def test_a_million_people_are_searched_by_an_index(project: Project, many: None) -> None:
    theirs = Contact.objects.filter(project=project)
    one = theirs.latest("pk").external_id
    plan = theirs.filter(external_id__istartswith=one)[:7].explain()
    assert "contact_external_id_prefix" in plan and "~>=~" in plan, plan


def test_a_million_devices_are_searched_by_an_index(project: Project, many: None) -> None:
    plan = ending_in(Device.objects.filter(project=project), "7hH5Ynpc1")[:7].explain()
    assert "device_address_tail" in plan and "~>=~" in plan, plan
