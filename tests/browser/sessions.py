"""Pages of a browser whose visitor is logged in, or no longer."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page
from pytest_django.live_server_helper import LiveServer

from notifications.staff.team import Role
from tests.given.log_in import log_in as enter
from tests.roles.people import somebody


def share_session(page: Page, live_server: LiveServer, client: Client) -> None:
    session = client.cookies["sessionid"].value
    page.context.clear_cookies()
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])


def logged_in_again() -> Client:
    client = Client()
    client.force_login(somebody(Role.OWNER, "olga"))
    return client


def end_the_session(page: Page) -> None:
    """Whatever the page asks for by itself would find out, and lead to the log-in by itself."""
    page.evaluate(
        """() => document.addEventListener("htmx:beforeRequest",
            (event) => event.preventDefault())"""
    )
    page.context.clear_cookies(name="sessionid")


def log_in_again(page: Page) -> None:
    page.fill("#id_username", "ada")
    page.fill("#id_password", "a long pass phrase")
    page.click("button[type=submit]")


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
