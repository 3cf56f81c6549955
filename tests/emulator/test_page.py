"""The console page in a real browser, on a phone's screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.emulator.running import RunningEmulator
from tests.given.waiting import eventually


@pytest.fixture
def page(browser: Browser, emulator: RunningEmulator) -> Page:
    page = browser.new_page(viewport={"width": 390, "height": 800}, ignore_https_errors=True)
    page.goto(emulator.url)
    expect(page.get_by_text("Counting since")).to_be_visible()
    return page


def test_a_person_scripts_a_fault_watches_it_and_removes_it(
    page: Page, emulator: RunningEmulator
) -> None:
    page.get_by_label("What goes wrong").select_option("answer")
    page.locator("[name=answer]").select_option("internal")
    page.get_by_label("Addresses that begin with").fill("ios")
    page.get_by_role("button", name="Script this fault").click()
    expect(page.get_by_text("internal, of ios…")).to_be_visible()
    assert emulator.send({"token": "ios:1"}).status == 500
    expect(page.get_by_text("on, hits: 1")).to_be_visible()
    expect(page.locator("#answers")).to_contain_text("INTERNAL")
    assert page.evaluate("document.documentElement.scrollWidth") == 390

    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("None is scripted")).to_be_visible()
    assert emulator.send({"token": "ios:1"}).status == 200


def test_a_wrong_fault_is_explained_where_it_was_scripted(page: Page) -> None:
    page.get_by_label("What goes wrong").select_option("stall")
    page.get_by_role("button", name="Script this fault").click()
    expect(page.get_by_role("alert").first).to_contain_text("say for how long")


def test_settings_change_from_the_page(page: Page, emulator: RunningEmulator) -> None:
    page.get_by_label("Quota a minute").fill("6000")
    page.get_by_role("button", name="Change").click()

    def quota() -> object:
        return emulator.ask("GET", "/admin/settings").json["quota_per_minute"]

    eventually("the quota is changed", lambda: quota() == 6000)
