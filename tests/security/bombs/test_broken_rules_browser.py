"""Broken rules in a real Chromium: the page stands, and they are corrected in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_audience
from tests.security.bombs.broken import BROKEN, LEAF

pytestmark = pytest.mark.django_db(transaction=True)
SOME = ("behind 101 groups", "unknown operator", "no object inside", "deep", "a number")


def test_they_are_read_as_json_and_corrected(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    for name in SOME:
        read_and_correct(page, live_server, project, BROKEN[name])
        assert troubles == [], name


def read_and_correct(page: Page, live_server: LiveServer, project: Project, tree: Any) -> None:
    audience = make_audience(project, rules=tree)
    page.goto(f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/")
    expect(page.locator("[role=alert]").first).to_contain_text("These rules no longer work")
    assert json.loads(page.input_value("#id_rules")) == tree
    page.get_by_role("tab", name="JSON, for experts").click()
    page.fill("#id_rules", json.dumps(LEAF))
    expect(page.locator("#count")).to_contain_text("locale is ko")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/campaigns/audience/")
    audience.refresh_from_db()
    assert audience.rules == LEAF
