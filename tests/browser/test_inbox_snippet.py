"""The inbox that docs/inbox.md gives away, as it stands there, in a page of another site."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from notifications.inbox.item import InboxItem
from notifications.people.contact import Contact
from tests.api.own_app import token_of
from tests.feed.conftest import send
from tests.given.builders import make_contact, make_project
from tests.servers.fcm import Fcm
from tests.servers.feed import Feed
from tests.servers.site import Site, serving
from tests.servers.workers import CHECKOUT, Workers

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = (Path(CHECKOUT) / "docs" / "inbox.md").read_text()
(HTML,) = re.findall(r"```html\n(.*?)```", TEXT, re.DOTALL)
SNIPPET = re.findall(r"```javascript\n(.*?)```", TEXT, re.DOTALL)[0]
PAGE = """<!doctype html><title>Shop</title>%s<script>%s
const tokens = %s;
inbox({ api: %s, getToken: async () => tokens.shift(), badge: document.getElementById("badge"),
  list: document.getElementById("items") });</script>"""


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def ada(transactional_db: None, site: Site) -> Contact:
    return make_contact(make_project(allowed_origins=[site.origin]), external_id="ada")


@pytest.fixture
def page(browser: Browser, site: Site, ada: Contact, feed: Feed, emulator: Fcm) -> Iterator[Page]:
    """The shop's page; the first token its backend gives is not taken any more."""
    web = Workers(emulator, {"FEED_PORT": str(feed.port)})
    url = web.start_web()
    tokens = ["inbox1.no-longer", token_of(ada.project, "ada")]
    site.page = PAGE % (HTML, SNIPPET, json.dumps(tokens), json.dumps(f"{url}/api/v1"))
    page = browser.new_page()
    page.goto(f"{site.origin}/")
    yield page
    page.close()
    web.kill("web")


def test_the_snippet_is_at_most_sixty_lines_long() -> None:
    assert len(SNIPPET.splitlines()) <= 60


def test_a_page_shows_what_comes_and_marks_what_is_opened(page: Page, ada: Contact) -> None:
    send(ada, content={"title": "First", "body": "<b>Hello</b>"})
    first = page.get_by_role("button", name="First: <b>Hello</b>")
    expect(first).to_have_css("font-weight", "700")
    expect(page.locator("#badge")).to_have_text("1")

    first.click()

    expect(first).to_have_css("font-weight", "400")
    expect(page.locator("#badge")).to_have_text("")
    assert InboxItem.objects.get().read_at is not None


def test_a_page_comes_back_to_a_feed_that_was_away(page: Page, ada: Contact, feed: Feed) -> None:
    send(ada, content={"title": "Before", "body": "there"})
    expect(page.get_by_role("button", name="Before: there")).to_be_visible()

    feed.kill()
    send(ada, content={"title": "Meanwhile", "body": "kept"})
    again = Feed(port=feed.port)
    try:
        expect(page.get_by_role("button", name="Meanwhile: kept")).to_be_visible()
        expect(page.locator("#badge")).to_have_text("2")
    finally:
        again.kill()
