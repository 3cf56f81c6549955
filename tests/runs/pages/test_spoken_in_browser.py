"""A run's page while it moves: what it speaks, what it counts twice, and what was opened on it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_people, make_run
from tests.given.runs import settle

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
    expect(spoken).to_have_text("Sending: 12.5 % done.")
    expect(page.locator(".r-totals")).to_contain_text("12.5 % done")
    expect(spoken).to_have_text(re.compile("^$"))
    assert troubles == []


def test_a_page_has_one_number_of_the_accepted_and_keeps_open_what_was_opened(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    """The funnel is drawn less often than the totals above it, and whole."""
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    make_people(project, 8)
    run = make_run(project)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(minutes=25))
    keep([Report(run.pk, 1, Event.RECEIVED, None)])
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")
    numbers = page.locator("#received-shown")
    numbers.locator("summary").click()

    page.route("**/echo/**", lambda route: None)  # the funnel does not come
    settle(run, accepted=3)
    expect(page.locator(".r-totals")).to_contain_text("37.5 % done")
    expect(page.locator("#echo-accepted")).to_have_text("3")
    expect(page.locator("#echo-planned")).to_have_text("8")

    page.unroute("**/echo/**")
    page.reload()
    numbers.locator("summary").click()
    keep([Report(run.pk, 2, Event.RECEIVED, None)])
    expect(page.locator("#funnel")).to_contain_text(re.compile(r"Received\s+2"))
    expect(numbers).to_have_attribute("open", "")
    assert troubles == []
