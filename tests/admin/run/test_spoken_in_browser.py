"""What a run's page speaks while it moves: the share of its totals, once, and gone when heard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from tests.admin.lists.test_browser import log_in
from tests.admin.run.test_run import settle
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_old_share_does_not_stay_beside_the_new_one(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 8)
    run = make_run(project)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")

    settle(run, accepted=1)

    spoken = page.locator("#run-spoken")
    expect(spoken).to_have_text("Sending: 12.5 % done.", timeout=15_000)
    expect(page.locator(".r-totals")).to_contain_text("12.5 % done")
    expect(spoken).to_have_text(re.compile("^$"), timeout=15_000)
    assert troubles == []
    page.close()
