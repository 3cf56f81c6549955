"""A web page of another site, in a real browser: it calls with its person's inbox token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.consent.category import Category
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.documented import shown
from tests.api.own_app import token_of
from tests.given.builders import make_contact, make_project
from tests.servers.site import Site, serving

pytestmark = pytest.mark.django_db(transaction=True)
REGISTER = 'await me("devices", "POST", { token: fcmToken, platform: "web" });'
PAGE = """<!doctype html><title>…</title><script type="module">
const API = %(api)s, inboxToken = %(token)s, fcmToken = "live-ada:APA91b-web";
const run = async () => { %(script)s };
run().then(() => { document.title = "done"; }, (error) => { document.title = error.name; });
</script>"""


@pytest.fixture
def sites() -> Iterator[tuple[Site, Site]]:
    with ExitStack() as open_ones:
        yield open_ones.enter_context(serving()), open_ones.enter_context(serving())


@pytest.fixture
def shop(sites: tuple[Site, Site]) -> Project:
    """It allows the first of the sites; the second is allowed by nobody."""
    shop = make_project(allowed_origins=[sites[0].origin])
    make_contact(shop, external_id="ada")
    Category.objects.create(project=shop, name="Offers", slug="offers")
    return shop


def opened(browser: Browser, site: Site, api: str, token: str, script: str) -> None:
    """The page, until its script has come to an end; `title` says to which."""
    site.page = PAGE % {"api": json.dumps(f"{api}/api/v1"), "token": json.dumps(token),
                        "script": script}  # fmt: skip
    page = browser.new_page()
    page.goto(f"{site.origin}/")
    expect(page).not_to_have_title("…")
    site.page = page.title()
    page.close()


def test_a_page_the_project_allows_does_all_that_the_documented_example_does(
    browser: Browser, live_server: LiveServer, sites: tuple[Site, Site], shop: Project
) -> None:
    example = shown("javascript", "fetch(")
    assert REGISTER in example
    opened(browser, sites[0], live_server.url, token_of(shop, "ada"), example)
    assert sites[0].page == "done"
    device = Device.objects.get()
    assert (device.contact.external_id, device.registered_from) == ("ada", "app")
    assert device.retired_reason == "removed", "the last line of the example logs it out"
    assert Contact.objects.get().preferences["offers"]["wanted"] is False


def test_a_page_of_a_foreign_origin_gets_nothing_done_though_it_has_the_token(
    browser: Browser, live_server: LiveServer, sites: tuple[Site, Site], shop: Project
) -> None:
    me = shown("javascript", "fetch(").partition("await")[0]
    token = token_of(shop, "ada")
    opened(browser, sites[1], live_server.url, token, me + REGISTER)
    assert sites[1].page == "TypeError", "the browser refuses to send it"
    assert not Device.objects.exists()

    make_project(allowed_origins=[sites[1].origin])
    opened(browser, sites[1], live_server.url, token, me + REGISTER)
    assert sites[1].page == "done", "another project's page may ask, and reads the refusal"
    assert not Device.objects.exists()
