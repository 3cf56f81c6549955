"""A text check in a real browser: begun on the review, watched, and read on a phone's width."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns import tasks
from campaigns.text_check.model import TextCheck
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.browser.accessibility import AXE, complaints
from tests.given.builders import make_campaign
from tests.roles.people import logged_in
from tests.text_check.reading import make_reader

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    client: Client = logged_in(Role.SENDER)
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, base_url=live_server.url, reduced_motion="reduce"
    )
    context.add_init_script(AXE)
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    yield page
    context.close()
    assert troubles == []


def test_it_is_begun_on_the_review_and_its_report_comes_by_itself(
    page: Page, project: Project
) -> None:
    make_reader(project, "has", city="Seoul")
    make_reader(project, "mina", "ko", "ios", city="<b>부산</b>")
    make_reader(project, "lacks", "fr", "web")
    texts = {"title": "News " * 20, "body": "In {{ city }}", "locales": {"ko": {"title": "소식"}}}
    campaign = make_campaign(project, template=texts)
    page.goto(f"/admin/campaigns/campaign/{campaign.pk}/change/?step=review")
    card = page.locator("#text-check")
    card.get_by_role("button", name="Check the text for everybody").click()
    expect(card).to_contain_text("Waiting for a worker")
    assert complaints(page) == []
    tasks.check_texts(TextCheck.objects.get().pk)
    expect(card).to_contain_text("“{{ city }}” is missing: 1 device will be skipped.")
    expect(card).to_contain_text("For example: lacks")
    assert page.locator("html").evaluate("() => document.documentElement.scrollWidth") <= 390
    assert complaints(page) == []

    card.get_by_label("Look for the same text within the last days").fill("91")
    card.get_by_role("button", name="Check again").click()
    expect(card.get_by_role("alert")).to_contain_text("a whole number from 0 to 90")
    card.get_by_label("Look for the same text within the last days").fill("30")
    card.get_by_role("button", name="Check again").click()
    card.get_by_role("button", name="Cancel the check").click()
    expect(card).to_contain_text("The last check was cancelled.")
    expect(card).to_contain_text("1 device will be skipped")
