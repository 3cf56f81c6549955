"""The service worker that docs/receipts.md gives away, as it stands there, in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Worker

from campaigns.engagement.receipt import Event, Receipt
from campaigns.runs.run import Run
from notifications.keys.receipt_id import receipt_id
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.waiting import eventually
from tests.servers import chromium
from tests.servers.feed import Feed
from tests.servers.site import serving
from tests.servers.workers import CHECKOUT

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = (Path(CHECKOUT) / "docs" / "receipts.md").read_text()
(SNIPPET,) = re.findall(r"```javascript\n(.*?)```", TEXT, re.DOTALL)
# Only the system clicks: an event that a script makes cannot wait.
CLICK = """async ([kind, action]) => {
  const [notification] = await self.registration.getNotifications();
  const event = new NotificationEvent(kind, { notification, action });
  let told;
  event.waitUntil = (promise) => { told = promise; };
  self.dispatchEvent(event);
  await told;
}"""


class Shop:
    """A page that is open in a browser, with its service worker."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.origin = origin
        context.grant_permissions(["notifications"], origin=origin)
        page = context.new_page()
        page.goto(f"{origin}/")
        self.chromium: CDPSession = context.new_cdp_session(page)
        self._registered: list[str] = []
        self.chromium.on("ServiceWorker.workerRegistrationUpdated", self._note)
        self.chromium.send("ServiceWorker.enable")
        page.evaluate(
            "navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)"
        )
        self.worker: Worker = context.service_workers[0]

    def push(self, **message: Any) -> None:
        """As FCM delivers it to a browser."""
        said = {"origin": self.origin, "registrationId": self._registered[-1]}
        self.chromium.send(
            "ServiceWorker.deliverPushMessage", {**said, "data": json.dumps(message)}
        )

    def click(self, kind: str = "notificationclick", action: str = "") -> None:
        self.worker.evaluate(CLICK, [kind, action])

    def shows_one(self) -> bool:
        shown = "self.registration.getNotifications().then((shown) => shown.length)"
        return bool(self.worker.evaluate(shown) == 1)

    def _note(self, told: dict[str, Any]) -> None:
        self._registered += [each["registrationId"] for each in told["registrations"]]


@pytest.fixture
def browser() -> Browser:
    """A whole Chromium: the headless shell shows no notifications."""
    return chromium.opened(chromium.CHROMIUM)


@pytest.fixture(scope="module")
def feed(django_db_setup: None) -> Iterator[Feed]:
    feed = Feed()
    yield feed
    feed.kill()


@pytest.fixture
def shop(browser: Browser, feed: Feed) -> Iterator[Shop]:
    """Its service worker tells this feed."""
    with serving() as site, browser.new_context() as context:
        site.worker = SNIPPET.replace("https://push.example.com", f"http://127.0.0.1:{feed.port}")
        yield Shop(context, site.origin)


@pytest.fixture
def run(project: Project) -> Run:
    make_people(project, 2)
    return make_run(project)


def told(run: Run, *, of: int = 1) -> set[str]:
    rows = Receipt.objects.filter(run_id=run.pk, seq=of)
    return {Event(event).name.lower() for event in rows.values_list("event", flat=True)}


def carried(run: Run, seq: int = 1) -> dict[str, str]:
    return {"carillon_receipt": receipt_id(f"{run.pk}:{seq}")}


BUTTONS = [{"action": "later", "title": "Later"}, {"action": "buy", "title": "Buy"}]


@pytest.mark.parametrize("language", ["javascript", "kotlin", "swift"])
def test_each_snippet_is_at_most_sixty_lines_long(language: str) -> None:
    (snippet,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert len(snippet.splitlines()) <= 60


def test_what_is_shown_and_opened_by_a_button_is_told(shop: Shop, run: Run) -> None:
    said = {"title": "Sale", "body": "Today", "actions": BUTTONS}
    shop.push(notification=said, data=carried(run))
    eventually("it is told", lambda: told(run) == {"received", "displayed"})

    shop.click(action="buy")

    assert told(run) == {"received", "displayed", "opened", "action_2"}
    assert Receipt.objects.exclude(phone_at=None).count() == 4


def test_what_is_wiped_away_is_told(shop: Shop, run: Run) -> None:
    shop.push(notification={"title": "Sale"}, data=carried(run))
    eventually("it is told", lambda: told(run) == {"received", "displayed"})
    shop.click("notificationclose")
    assert told(run) == {"received", "displayed", "dismissed"}


def test_data_alone_is_received_and_not_displayed(shop: Shop, run: Run) -> None:
    shop.push(data=carried(run))
    eventually("it is told", lambda: told(run) == {"received"})


def test_what_could_not_be_told_goes_with_the_next(shop: Shop, feed: Feed, run: Run) -> None:
    feed.kill()
    shop.push(notification={"title": "First"}, data=carried(run, 1))
    eventually("it is shown", shop.shows_one)
    feed.process = Feed(port=feed.port).process
    shop.push(notification={"title": "Second"}, data=carried(run, 2))
    eventually("both messages were reported", lambda: told(run, of=1) == told(run, of=2) != set())


def test_a_message_that_asks_for_nothing_is_shown(shop: Shop, run: Run) -> None:
    shop.push(notification={"title": "Hello"}, data={})
    eventually("it is shown", shop.shows_one)
    assert not Receipt.objects.exists()
