"""Pages of other sites: the doors of an inbox token answer those that a project allows."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.origins import MOST, in_order
from notifications.people.project import Project
from tests.api.own_app import OwnApp, app_of
from tests.given.builders import make_contact, make_project

SHOP, MUSEUM, STRANGER = (
    "https://shop.example.com", "https://museum.example.org", "https://evil.example.net",
)  # fmt: skip
PHONE = {"token": "live-ada:APA91b", "platform": "web"}
ALLOW = "Access-Control-Allow-Origin"


@pytest.fixture
def app(db: None) -> OwnApp:
    shop = make_project(allowed_origins=[SHOP])
    make_project(allowed_origins=[MUSEUM])
    make_contact(shop, external_id="ada")
    return app_of(shop, "ada")


def preflight(origin: str, path: str = "/api/v1/me/devices", method: str = "POST") -> Any:
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    return Client().options(path, headers=headers)


def granted(reply: Any) -> set[str]:
    return {name for name in reply.headers if name.startswith("Access-Control-")}


@pytest.mark.parametrize("path", ["devices", "devices/live-ada:APA91b", "preferences"])
def test_a_browser_hears_before_it_sends_that_the_page_may(app: OwnApp, path: str) -> None:
    reply = preflight(SHOP, f"/api/v1/me/{path}")
    assert (reply.status_code, reply.content) == (204, b"")
    assert reply[ALLOW] == SHOP
    assert "authorization" in reply["Access-Control-Allow-Headers"]
    assert "DELETE" in reply["Access-Control-Allow-Methods"]
    assert "Origin" in reply["Vary"]
    assert "Access-Control-Allow-Credentials" not in reply


@pytest.mark.parametrize(
    "origin",
    [
        STRANGER, "null", "*", "", "https://shop.example.com.evil.example.net",
        "https://evil-shop.example.com", "https://sub.shop.example.com", "http://shop.example.com",
        "https://shop.example.com:8443", "https://shop.example.com/", "HTTPS://SHOP.EXAMPLE.COM",
        "https://shop.example.com, https://shop.example.com", "https://" + "a" * 60_000,
        "https://shop.example.com\x00",
    ],
)  # fmt: skip
def test_no_other_page_hears_yes_or_gets_anything_done(app: OwnApp, origin: str) -> None:
    asked = preflight(origin)
    assert not granted(asked) and "Origin" in asked["Vary"]
    sent = app("POST", "devices", PHONE, Origin=origin)
    assert sent.status_code == 403 and sent.json()["type"] == "urn:carillon:foreign-origin"
    assert not granted(sent)
    assert not Device.objects.exists()


def test_a_page_of_another_project_gets_nothing_done_with_the_token(app: OwnApp) -> None:
    """Before it has the token nobody can tell; so the door itself asks."""
    assert preflight(MUSEUM)[ALLOW] == MUSEUM
    assert app("POST", "devices", PHONE, Origin=MUSEUM).status_code == 403
    assert app("PATCH", "preferences", {"subscribed": False}, Origin=MUSEUM).status_code == 403
    assert not Device.objects.exists() and Contact.objects.get().subscribed


def test_a_page_that_may_reads_its_answers_also_the_refusals(app: OwnApp) -> None:
    done = app("POST", "devices", PHONE, Origin=SHOP)
    app.token = "inbox1.none"
    refused = app("GET", "preferences", Origin=SHOP)
    assert (done.status_code, refused.status_code) == (200, 401)
    for reply in (done, refused):
        assert reply[ALLOW] == SHOP
        assert "Origin" in reply["Vary"]
        assert "Retry-After" in reply["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in reply


def test_an_app_on_a_phone_and_our_own_pages_need_no_entry(app: OwnApp) -> None:
    assert app("GET", "preferences").status_code == 200
    assert "Origin" in app("GET", "preferences")["Vary"]
    assert app("GET", "preferences", Origin="http://testserver").status_code == 200


def test_an_origin_that_is_taken_away_gets_nothing_done_from_then_on(app: OwnApp) -> None:
    Project.objects.update(allowed_origins=[])
    assert app("POST", "devices", PHONE, Origin=SHOP).status_code == 403
    assert not granted(preflight(SHOP))


@pytest.mark.parametrize(
    "path",
    ["/api/v1/devices", "/api/v1/contacts/ada", "/api/v1/me", "/api/schema/", "/admin/login/"],
)
def test_no_other_door_answers_a_page_of_another_site(app: OwnApp, path: str) -> None:
    headers = {"Authorization": f"Bearer {app.token}", "Origin": SHOP}
    assert not granted(preflight(SHOP, path))
    assert not granted(Client().get(path, headers=headers))


def test_a_question_of_a_browser_costs_one_row_and_that_of_nonsense_none(
    app: OwnApp, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        preflight(SHOP)
    with django_assert_num_queries(0):
        preflight("null")


# --- What can be listed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://shop.example.com", "https://shop.example.com"),
        (" HTTPS://Shop.Example.com ", "https://shop.example.com"),
        ("https://shop.example.com:443", "https://shop.example.com"),
        ("https://shop.example.com:8443", "https://shop.example.com:8443"),
        ("https://intranet", "https://intranet"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("https://[2001:DB8:0::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
def test_an_origin_is_kept_as_a_browser_sends_it(given: str, kept: str) -> None:
    assert in_order([given, "", given]) == [kept]


@pytest.mark.parametrize(
    "given",
    [
        "*", "https://*", "https://*.example.com", "null", "shop.example.com", "https://",
        "https://shop.example.com/", "https://shop.example.com/path", "https://shop.example.com?q",
        "https://user@shop.example.com", "https://shop.example.com:0", "https://shop.example.com:99999",
        "https://shop.example.com.", "https://-shop.example.com", "https://shop_.example.com",
        "https://bücher.example", "https://a b.example", "https://[::1", "https://[:::]",
        "http://shop.example.com", "http://localhost.example.com", "ftp://shop.example.com",
        "javascript://x", "https://shop.example.com\n", "https://" + "a." * 200 + "com",
        "https://shop.example.com;https://evil.example.net",
    ],
)  # fmt: skip
def test_what_is_no_origin_of_a_safe_page_is_refused_by_name(given: str) -> None:
    if given != given.strip():  # blanks around it are nobody's mistake
        assert in_order([given]) == [given.strip()]
        return
    with pytest.raises(ValidationError) as refused:
        in_order(["https://shop.example.com", given])
    assert given[:100] in refused.value.messages[0]


def test_there_are_twenty_at_most() -> None:
    many = [f"https://shop-{number}.example.com" for number in range(MOST + 1)]
    assert in_order(many[:-1]) == many[:-1]
    with pytest.raises(ValidationError):
        in_order(many)
