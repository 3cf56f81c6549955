"""An endpoint's page: its log all in sight, what waits says until when, and what goes which way."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from notifications.values.moments import in_zone
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.transports import https_post
from tests.browser.sessions import log_in
from tests.given.builders import make_project
from tests.given.endpoints import make_endpoint
from tests.servers.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)
WAYS = ("receipt", "run.finished")


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


@pytest.fixture
def endpoint(shop: Project) -> Endpoint:
    return make_endpoint(shop, "https://hooks.example.com/")


def make_call(endpoint: Endpoint, name: str, **values: Any) -> Call:
    now = timezone.now()
    event = {"id": name, "type": "run.needs_a_person", "timestamp": now.isoformat(), "data": {}}
    given = {"made_at": now, "next_at": now, "gives_up_at": now + timedelta(days=3)}
    return Call.objects.create(endpoint=endpoint, name=name, events=[event], **{**given, **values})


def test_each_column_of_the_log_is_in_sight(
    browser: Browser, live_server: LiveServer, endpoint: Endpoint
) -> None:
    long = "evt_0190f5fe7a2c7d1c9a3e5f6a7b8c9d0e"
    make_call(
        endpoint, long, state="failed", tries=9, error="tls", took_ms=1_204,
        answer=f"moved to https://hooks.example.com/{'a-long-way-' * 6}",
    )  # fmt: skip
    page = log_in(browser, live_server, [], width=1360)
    for width in (1360, 1024, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{live_server.url}/admin/notifications/endpoint/{endpoint.pk}/change/")
        scroll = page.locator("#endpoint-log .c-scroll")
        assert scroll.evaluate("box => box.scrollWidth - box.clientWidth") <= 0, width
        cells = page.locator("#endpoint-log tbody td")
        right = page.locator("#endpoint-log").evaluate("box => box.getBoundingClientRect().right")
        for at in range(cells.count()):
            box, said = cells.nth(at).bounding_box(), (width, cells.nth(at).inner_text())
            assert box and box["x"] + box["width"] <= right + 1, said


def test_what_waits_says_until_when_and_nothing_that_has_passed(
    endpoint: Endpoint, admin_client: Client
) -> None:
    now = timezone.now()
    rest = now + timedelta(minutes=3)
    tried = make_call(endpoint, "evt_1", tries=4, next_at=now - timedelta(minutes=7))
    make_call(endpoint, "evt_2")

    def states() -> list[str]:
        page = f"/admin/notifications/endpoint/{endpoint.pk}/log/"
        text = admin_client.get(page).content.decode()
        cells = re.findall(r'data-head="State">(.*?)</td>', text)
        return [re.sub("<[^>]*>", " ", cell).replace("  ", " ").strip() for cell in cells]

    assert states() == ["Waiting", "Waiting"], "due now"
    Endpoint.objects.update(failures=9, failing_since=now, rests_until=rest)
    other, first = states()
    assert other == "Waiting sent when the endpoint takes another one"
    zone = endpoint.project.timezone
    assert first == f"Waiting tried again at {in_zone(rest, zone, seconds=True)}"
    Call.objects.filter(pk=tried.pk).update(state="failed")
    assert states()[0] == f"Waiting tried at {in_zone(rest, zone, seconds=True)}"
    endpoint.disable(Endpoint.Why.BY_HAND, now=now)
    assert states()[0] == "Waiting sent when the endpoint is switched on"
    test = make_call(endpoint, "evt_3", tries=2, next_at=rest, is_test=True)
    assert states()[0] == f"Waiting tried again at {in_zone(test.next_at, zone, seconds=True)}"


def test_no_answer_is_said_in_words_without_a_librarys_lines(
    shop: Project, receiver: Receiver, settings: LazySettings
) -> None:
    settings.OUTGOING_CA_FILE = None
    answer = https_post.post(receiver.url, b"{}", {})
    assert answer.error == "tls"
    assert re.fullmatch(r"certificate verify failed: [a-z -]+", answer.text), answer.text


def test_what_only_a_webhook_takes_is_put_away_for_slack(
    browser: Browser, live_server: LiveServer, shop: Project, receiver: Receiver
) -> None:
    page = log_in(browser, live_server, [], width=1360)
    page.goto(f"{live_server.url}/admin/notifications/endpoint/add/")
    receipt, finished = (page.locator(f"[name=kinds][value='{one}']") for one in WAYS)
    receipt.check()
    page.get_by_label("Slack").check()
    expect(receipt).to_be_hidden()
    expect(page.get_by_text("In batches")).to_be_hidden()
    expect(finished).to_be_visible()
    page.fill("[name=name]", "Ops")
    page.fill("[name=to]", receiver.url)
    finished.check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/notifications/endpoint/")
    assert Endpoint.objects.get().kinds == ["run.finished", "alert.raised", "alert.ended"]
