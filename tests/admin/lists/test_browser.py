"""The preview and the dialogs in a real Chromium, under the real Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_preview_follows_the_typing(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 1)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/template/add/")
    page.fill("#id_title", "Good morning, {{ first_name }}")
    page.fill("#id_body", "Coffee?")
    expect(page.locator("#preview")).to_contain_text("Good morning, Ada")
    page.fill("#id_body", "Coffee, {{ first_name | shout }}?")
    expect(page.locator("#preview")).to_contain_text("there is no filter “shout”")
    assert troubles == []


# htmx settles a dialog before Alpine shows it then, and what is hidden takes no focus.
DRAWS_SLOWLY = "window.requestAnimationFrame = (draw) => setTimeout(draw, 300)"


@pytest.mark.parametrize("machine", ["", DRAWS_SLOWLY], ids=["fast", "slow"])
def test_a_dialog_takes_the_focus_and_gives_it_back_to_what_opened_it(
    browser: Browser, live_server: LiveServer, project: Project, machine: str
) -> None:
    make_people(project, 1)
    run, troubles = make_run(project), list[str]()
    page = log_in(browser, live_server, troubles, width=390)
    page.add_init_script(machine)
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")
    page.locator("#verb-pause").focus()
    ways_out: list[Callable[[], None]] = [
        lambda: page.keyboard.press("Escape"),
        lambda: page.get_by_role("button", name="Close").click(),
        lambda: page.get_by_role("button", name="Not now").click(),
    ]
    for leave in ways_out:
        page.keyboard.press("Enter")
        expect(page.locator(".c-dialog-foot button").first).to_be_focused()
        leave()
        expect(page.locator("#dialog")).to_be_hidden()
        expect(page.locator("#verb-pause")).to_be_focused()
    assert troubles == []
