"""A person who walks through the pages, and whom nothing may trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.runs.run import Run

PASSWORD = "a long pass phrase"


@contextmanager
def untroubled_page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1360, "height": 900}, base_url=live_server.url, accept_downloads=True
    )
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())  # “leave without saving?”
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    # Chromium calls an address that refuses somebody an error; one test goes there on purpose. And
    # a page that is left while it asks for news says so.
    expected = ("status of 403", "htmx:sendAbort", "htmx:afterRequest")
    assert [said for said in troubles if not any(word in said for word in expected)] == []


def log_in(page: Page, name: str) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(name)
    page.locator("input[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def launch(page: Page) -> None:
    """With the double click that many people make; one run comes of it."""
    page.get_by_role("link", name="Launch …").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Launch")).dblclick()
    expect(page).to_have_url(re.compile("/admin/campaigns/run/"))
    assert Run.objects.count() == 1


def expect_state(page: Page, state: str) -> None:
    expect(page.locator(f"#run-live .c-state-{state}")).to_be_visible()
