"""The log of an endpoint on its page: all of it in sight, and what waits says until when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from notifications.outgoing.call import Call
from notifications.outgoing.endpoint import Endpoint
from notifications.people.project import Project
from tests.admin.lists.test_browser import log_in
from tests.given.builders import make_project
from tests.given.endpoints import make_endpoint

pytestmark = pytest.mark.django_db(transaction=True)


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


@pytest.mark.parametrize("width", [1360, 1024, 768, 390])
def test_each_column_of_the_log_is_in_sight(
    browser: Browser, live_server: LiveServer, endpoint: Endpoint, width: int
) -> None:
    long = "evt_0190f5fe7a2c7d1c9a3e5f6a7b8c9d0e"
    make_call(
        endpoint, long, state="failed", tries=9, error="tls", took_ms=1_204,
        answer=f"moved to https://hooks.example.com/{'a-long-way-' * 6}",
    )  # fmt: skip
    page = log_in(browser, live_server, [], width=width)
    page.goto(f"{live_server.url}/admin/notifications/endpoint/{endpoint.pk}/change/")
    scroll = page.locator("#endpoint-log .c-scroll")
    assert scroll.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
    cells = page.locator("#endpoint-log tbody td")
    right = page.locator("#endpoint-log").evaluate("box => box.getBoundingClientRect().right")
    for at in range(cells.count()):
        box = cells.nth(at).bounding_box()
        assert box and box["x"] + box["width"] <= right + 1, cells.nth(at).inner_text()
    page.close()
