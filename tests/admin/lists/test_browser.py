"""The preview and the dialogs in a real Chromium, under the real Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.log_in import log_in as enter

pytestmark = pytest.mark.django_db(transaction=True)


def log_in(
    browser: Browser, server: LiveServer, troubles: list[str], *, width: int, dark: bool = False
) -> Page:
    """A new page with a logged-in session. It has not loaded anything yet."""
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )

    def listen(message: ConsoleMessage) -> None:
        # A page that is left while it asks for news says so.
        if message.type == "error" and message.text not in ("htmx:sendAbort", "htmx:afterRequest"):
            troubles.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    client = Client()
    enter(client, User.objects.create_superuser("ada", "ada@example.com", "a long pass phrase"))
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
    return page


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
