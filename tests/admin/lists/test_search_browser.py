"""The search and the change of project in a real Chromium, by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_campaign, make_project

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_campaign_is_found_and_a_project_chosen_without_a_mouse(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    make_campaign(project, name="Early spring sale")
    make_campaign(make_project(name="Museum"), name="Spring at night")
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/")

    page.keyboard.press("Control+k")
    find = page.locator("#find")
    expect(find).to_contain_text("You can search for:")
    page.keyboard.type("spring")
    expect(find.locator(".n-result")).to_have_text("Early spring sale")
    page.keyboard.press("ArrowDown")
    expect(find.locator(".n-result")).to_be_focused()
    page.keyboard.press("Escape")
    expect(find).to_be_hidden()

    page.keyboard.press("Control+k")
    expect(find.locator("input")).to_be_focused()
    expect(find.locator(".n-result")).to_be_visible()
    page.keyboard.press("Enter")  # the first that was found
    page.wait_for_url("**/campaign/*/change/")
    expect(page.locator("h1")).to_have_text("Early spring sale")

    page.locator(".n-project summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Museum")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{live_server.url}/admin/")
    expect(page.locator(".n-project summary")).to_contain_text("Museum")
    expect(page.get_by_text("Launch “Spring at night”")).to_be_visible()
    assert troubles == []
