"""Two demo phones in a real browser: they chat, one is locked, it rings, and a tap opens it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from notifications.inbox.item import InboxItem
from notifications.inbox.online_people import Online
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.given.waiting import eventually
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.servers.feed import Feed
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def feed(transactional_db: None, settings: LazySettings) -> Iterator[Feed]:
    feed = Feed()
    settings.FEED_PORT = feed.port
    yield feed
    feed.kill()


@pytest.fixture
def urgent(workers: Workers) -> Iterator[None]:
    workers.start("urgent")
    workers.wait_until_ready("urgent")
    yield
    workers.kill("urgent")


@pytest.fixture
def page(
    browser: Browser, live_server: LiveServer, project: Project, feed: Feed, urgent: None
) -> Iterator[Page]:
    """The phones, switched on; a page that forgives no error on its console, but what is busy."""
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    session = logged_in(Role.SENDER).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and "503" not in message.text:
            complaints.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{live_server.url}/demo/phone")
    for name in ("Mina", "Leo"):
        phone(page, name).get_by_role("button", name="Switch on").click()
        expect(phone(page, name).get_by_label("Message")).to_be_visible()
    yield page
    context.close()
    assert complaints == []


def phone(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=f"{name}’s phone")


def say(phone: Locator, words: str) -> None:
    phone.get_by_label("Message").fill(words)
    phone.get_by_role("button", name="Send").click()


def test_two_phones_chat_and_the_one_that_is_locked_rings(page: Page, fcm: Fcm) -> None:
    mina, leo = phone(page, "Mina"), phone(page, "Leo")
    eventually("both are online", lambda: Online.objects.count() == 2)

    say(mina, "Shall we sing?")
    expect(leo.get_by_role("tabpanel")).to_contain_text("Shall we sing?")
    expect(mina.get_by_role("tabpanel")).to_contain_text("Shall we sing?")
    say(leo, "At <b>six</b>")
    expect(mina.get_by_role("tabpanel")).to_contain_text("At <b>six</b>")
    unread = InboxItem.objects.filter(read_at=None)
    eventually("what is on the screen is read", lambda: not unread.exists())
    assert fcm.witness() == [], "whoever looks is not rung"

    leo.get_by_role("button", name="Lock").click()
    gone = Online.objects.exclude(pk=_person("mina"))
    gone.update(seen_at="2020-01-01T00:00Z")  # as if fifteen seconds had passed
    say(mina, "Are you there?")
    tray = leo.get_by_role("list", name="Notifications")
    expect(tray.get_by_role("listitem")).to_have_text(re.compile("Mina.*Are you there"))
    say(mina, "Leo!")
    expect(tray.get_by_role("listitem")).to_have_text(re.compile(r"Mina \(2 new\).*Leo!"))

    tray.get_by_role("button").click()
    expect(leo.get_by_role("tabpanel")).to_contain_text("Are you there?")
    eventually("both are read", lambda: not unread.exists())
    assert [(record["address"], record["body"]) for record in fcm.witness()] == [
        ("demo-phone-leo", "Are you there?"),
        ("demo-phone-leo", "Leo!"),
    ]


def is_held(page: Page, held: list[Route]) -> bool:
    page.wait_for_timeout(50)  # its events come meanwhile
    return bool(held)


def test_what_is_typed_while_a_message_is_sent_stays(page: Page) -> None:
    mina = phone(page, "Mina")
    field, held = mina.get_by_label("Message"), list[Route]()
    page.route("**/write/", lambda route: held.append(route))
    say(mina, "First")
    eventually("it is being sent", lambda: is_held(page, held))
    field.press_sequentially("second")
    field.press("Enter")  # one after the other: it waits where it is
    held.pop().continue_()
    expect(mina.get_by_role("tabpanel")).to_contain_text("First")
    expect(field).to_have_value("second")

    field.press("Enter")
    eventually("the second is being sent", lambda: is_held(page, held))
    field.press_sequentially("third")
    held.pop().fulfill(status=503, json={"problem": "Too busy."})
    expect(mina.get_by_role("alert")).to_have_text("Too busy.")
    expect(field).to_have_value("second third")


def _person(name: str) -> int:
    contact = InboxItem.objects.filter(contact__external_id=f"demo-phone-{name}").first()
    assert contact is not None
    return contact.contact_id
