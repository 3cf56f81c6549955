"""A project's pages load images from the hosts it allows; phones fetch theirs from anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.texts.template import Template
from notifications.people import images
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_project, make_template
from tests.given.project_form import project_form
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
CDN, EVIL = "https://cdn.example.com/a.png", "https://evil.example/a.png"
REFUSED = "Images from “evil.example” are not shown here."
WHERE = "on the page of the project “Shop”, under “Image hosts”"


@pytest.fixture
def shop(db: None) -> Project:
    return make_project(name="Shop", image_hosts=["cdn.example.com"])


@pytest.fixture
def desk(shop: Project) -> Desk:
    return Desk(logged_in(Role.OPERATOR))


def policy_of(client: Client, path: str = "/admin/") -> str:
    return str(client.get(path)["Content-Security-Policy"])


def text(**values: Any) -> dict[str, Any]:
    return {"name": "Sunday", "title": "Hi", "body": "See you", "image": "", "link": "",
            "data": "{}", "options": "{}", "locales": "{}", **values}  # fmt: skip


def preview(desk: Desk, project: Project, **values: Any) -> str:
    posted = text(project=project.pk, **values)
    return desk.client.post(reverse("admin:template_preview"), posted).content.decode()


# --- The header ----------------------------------------------------------------------------------


def test_a_page_may_load_the_images_of_the_project_one_works_in(desk: Desk, shop: Project) -> None:
    assert "img-src 'self' data: https://cdn.example.com;" in policy_of(desk.client)
    museum = make_project(name="Museum", image_hosts=["art.example.com:8443", "*.example.org"])
    assert "art.example.com" not in policy_of(desk.client)
    desk.go_to(museum)
    allowed = "img-src 'self' data: https://art.example.com:8443 https://*.example.org;"
    assert allowed in policy_of(desk.client)


def test_who_is_not_logged_in_is_told_no_host(shop: Project) -> None:
    for path in ("/admin/login/", "/admin/", "/nowhere"):
        assert "cdn.example.com" not in policy_of(Client(), path)


# --- Allowing a host -----------------------------------------------------------------------------


def test_an_operator_allows_hosts_on_the_projects_page(desk: Desk, shop: Project) -> None:
    hosts = " CDN.example.com, *.Example.org ,art.example.com:8443,cdn.example.com"
    desk.save("notifications_project_change", shop.pk, **project_form(shop, hosts))
    shop.refresh_from_db()
    assert shop.image_hosts == ["cdn.example.com", "*.example.org", "art.example.com:8443"]
    desk.save("notifications_project_change", shop.pk, **project_form(shop, ""))
    shop.refresh_from_db()
    assert shop.image_hosts == []


@pytest.mark.parametrize(
    "host",
    ["https://cdn.example.com", "*", "*.*", "cdn.example.com/a", "a b.example.com", "example",
     "x.com; script-src *", "'unsafe-inline'", "data:", "https:", "x.com:0", "x.com:70000",
     "-a.example.com",
     "é.example.com", "a.example.com\nb.example.com"],
)  # fmt: skip
def test_what_is_no_host_is_refused_by_name(desk: Desk, shop: Project, host: str) -> None:
    said = desk.save("notifications_project_change", shop.pk, **project_form(shop, host))
    assert "is not a host: write cdn.example.com, or *.example.com for all below." in said
    shop.refresh_from_db()
    assert shop.image_hosts == ["cdn.example.com"]
    assert ";" not in host or "script-src *" not in policy_of(desk.client)


def test_an_editor_allows_none(shop: Project) -> None:
    client = logged_in(Role.EDITOR)
    url = reverse("admin:notifications_project_change", args=[shop.pk])
    assert client.post(url, project_form(shop, "evil.example")).status_code == 403
    shop.refresh_from_db()
    assert shop.image_hosts == ["cdn.example.com"]


def test_the_projects_page_offers_the_hosts_its_templates_use(desk: Desk, shop: Project) -> None:
    make_template(shop, name="Old", image=EVIL, locales={"ko": {"image": "https://ko.example/a"}})
    make_template(shop, name="Ours", image=CDN)
    page = desk.client.get(reverse("admin:notifications_project_change", args=[shop.pk]))
    url = reverse("admin:template_hosts", args=[shop.pk])
    assert url in page.content.decode()
    said = text_of(desk.client.get(url))
    assert "They are on evil.example, ko.example." in said and "cdn.example.com" not in said


# --- Writing a text ------------------------------------------------------------------------------


def test_an_image_from_elsewhere_is_refused_beside_its_field(desk: Desk, shop: Project) -> None:
    said = desk.save("campaigns_template_add", **text(image=EVIL))
    assert REFUSED in said and WHERE in said
    said = desk.save("campaigns_template_add", **text(locales=f'{{"ko": {{"image": "{EVIL}"}}}}'))
    assert f"ko.image: {REFUSED}" in said
    assert not Template.objects.exists()
    for image in (CDN, "{{ photo }}", "https://{{ host }}/a.png", f"{CDN}?x={{{{ first_name }}}}"):
        desk.save("campaigns_template_add", **text(name=image[:90], image=image))
    assert Template.objects.count() == 4


def test_what_was_saved_before_may_stay(desk: Desk, shop: Project) -> None:
    template = make_template(shop, name="Old", image=EVIL)
    form = text(name="Old", title="New title", image=EVIL, seen="0")
    desk.save("campaigns_template_change", template.pk, **form)
    template.refresh_from_db()
    assert (template.title, template.image) == ("New title", EVIL)
    said = desk.save(
        "campaigns_template_change", template.pk, **{**form, "image": "https://other.example/a"}
    )
    assert "Images from “other.example” are not shown here." in said


def test_a_text_written_in_a_campaign_is_asked_the_same(desk: Desk, shop: Project) -> None:
    campaign = make_campaign(shop)
    url = reverse("admin:campaigns_campaign_change", args=[campaign.pk])
    form = {"template_from": "make", "title": "Hi", "body": "x", "link": "", "_step": "what"}
    reply: Any = desk.client.post(f"{url}?step=what", {**form, "image": EVIL}, follow=True)
    assert REFUSED in text_of(reply)
    assert not Template.objects.filter(image=EVIL).exists()


def test_a_program_may_name_any_host_and_phones_fetch_from_it(shop: Project) -> None:
    made = Caller(shop).post("templates", {"name": "A", "title": "Hi", "body": "x", "image": EVIL})
    assert made.status_code == 201
    shown = Caller(shop).post(f"templates/{made.json()['id']}/preview", {})
    assert shown.status_code in (200, 400) and Template.objects.get().image == EVIL


# --- Looking at it -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        (CDN, True),
        ("https://cdn.example.com:443/a.png", True),
        (EVIL, False),
        ("https://cdn.example.com.evil.example/a.png", False),
        ("https://cdn.example.com:8443/a.png", False),
        ("{{ photo }}", False),
        ("{{ trick }}", False),
    ],
)
def test_a_preview_shows_an_image_or_says_why_not(
    desk: Desk, shop: Project, image: str, shown: bool
) -> None:
    values = {"photo": EVIL, "trick": "https://cdn.example.com@evil.example/a.png"}
    make_contact(shop, external_id="ada", attributes=values)
    html = preview(desk, shop, image=image, preview_person="ada")
    assert ('class="c-picture"' in html) == shown
    assert ("are not shown here." in html) != shown


@pytest.mark.parametrize(
    ("address", "hosts", "allowed"),
    [
        ("https://a.example.org/x", ["*.example.org"], True),
        ("https://a.b.example.org/x", ["*.example.org"], True),
        ("https://example.org/x", ["*.example.org"], False),
        ("https://evilexample.org/x", ["*.example.org"], False),
        ("https://A.Example.org./x", ["a.example.org"], True),
        ("https://[", ["*.example.org"], False),
        ("https://a.example.org:99999/x", ["*.example.org"], False),
    ],
)
def test_a_star_stands_for_what_is_below(address: str, hosts: list[str], allowed: bool) -> None:
    assert images.allowed(address, hosts) == allowed
