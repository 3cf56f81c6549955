"""A newcomer's walk in a real browser: log in, launch, watch it finish, on real workers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_people
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=[(1360, "light"), (390, "dark")], ids=["desk", "phone-in-the-dark"])
def page(
    request: pytest.FixtureRequest, browser: Browser, live_server: LiveServer
) -> Iterator[Page]:
    """A page that forgives no error on its console and no request to another host."""
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, base_url=live_server.url
    )
    page = context.new_page()
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda sent: (
            None
            if sent.url.startswith((live_server.url, "data:"))
            else complaints.append(f"asked {sent.url}")
        ),
    )
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def campaign(project: Project) -> Campaign:
    make_people(project, [""] * 41 + ["dead-1:APA91b"])
    get_user_model().objects.create_superuser("alice", "alice@example.com", "a-long-password")
    return make_campaign(project, name="Autumn run")


def log_in(page: Page) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill("alice")
    page.locator("input[name=password]").fill("a-long-password")
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_title(re.compile("Overview"))


def test_from_log_in_through_a_pause_by_hand_to_a_finished_run_that_balances(
    page: Page, campaign: Campaign, fcm: Fcm, beat: Workers
) -> None:
    Campaign.objects.update(rate_per_second=1)  # a slow machine has the time to pause it
    log_in(page)
    page.goto(f"/admin/campaigns/campaign/{campaign.pk}/change/")
    page.get_by_role("link", name="Launch …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("42")
    assert not Run.objects.exists(), "looking at the dialog launches nothing"

    dialog.get_by_role("button", name=re.compile("Launch")).click()

    expect(page).to_have_url(re.compile("/admin/campaigns/run/"))
    page.get_by_text("Pause", exact=True).first.click()
    dialog.get_by_role("button", name=re.compile("Pause")).click()
    expect(page.locator("#run-live .c-state-paused")).to_be_visible()
    assert Run.objects.get().state == Run.State.PAUSED

    Run.objects.update(rate_per_second=None)
    page.get_by_text("Resume", exact=True).first.click()
    dialog.get_by_role("button", name=re.compile("Resume")).click()
    expect(page.locator("#run-live .c-state-finished")).to_be_visible()
    balance = "42 planned = 41 accepted + 1 rejected + 0 skipped + 0 unknown + 0 waiting"
    expect(page.get_by_text(balance)).to_be_visible()
    assert Run.objects.get().accepted == len(fcm.witness()) == 41
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0, "nothing scrolls sideways"
