"""A campaign from nothing in a real browser: made in place, kept when the page is left."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.given.builders import make_people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, client: Client) -> Iterator[Page]:
    alice = get_user_model().objects.create_superuser("alice", "alice@example.com", "a-long-pass")
    client.force_login(alice)
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, base_url=live_server.url, color_scheme="dark"
    )
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())  # “leave without saving?”
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    assert troubles == []


def test_a_newcomer_writes_and_schedules_a_campaign_on_one_page(
    page: Page, project: Project
) -> None:
    make_people(project, 3)
    page.goto("/admin/campaigns/campaign/add/")
    page.get_by_label("Name").fill("Spring")
    page.get_by_label("An existing audience").check()
    expect(page.locator("#id_audience")).to_be_visible()
    page.get_by_label("New rules").check()
    expect(page.locator("#id_audience")).to_be_hidden()
    expect(page.locator("#beside")).to_contain_text("People 3", use_inner_text=True)
    page.get_by_role("button", name="Save, then what they read").click()

    expect(page).to_have_url(re.compile(r"step=what"))
    page.get_by_label("Title", exact=True).fill("Hi {{ first_name }}")
    page.get_by_role("textbox", name="Text").fill("Come on Sunday")
    expect(page.locator(".c-on-android")).to_contain_text("Hi Ada")
    page.get_by_label("Web").check()
    expect(page.locator(".c-on-web")).to_contain_text("Come on Sunday")

    page.reload()  # a session that ended, a closed tab: what was typed is in the form again
    expect(page.locator("#kept")).to_be_visible()
    expect(page.get_by_label("Title", exact=True)).to_have_value("Hi {{ first_name }}")
    page.get_by_role("textbox", name="Text").press("Tab")
    page.get_by_label("Title", exact=True).press("Enter")  # goes on, as the eye expects

    expect(page).to_have_url(re.compile(r"step=when"))
    expect(page.locator("#kept")).to_be_hidden()
    page.get_by_label("Repeats").check()
    page.get_by_label("How often").select_option("weekly")
    page.get_by_label("Local time").fill("2030-05-01T09:00")
    expect(page.locator("#beside")).to_contain_text("8 May 2030, 09:00")
    page.get_by_role("button", name="Save, then review").click()

    expect(page.locator("#review")).to_contain_text("The longest found")
    page.get_by_role("link", name="Launch …").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Launch")).click()
    expect(page).to_have_url(re.compile("/admin/campaigns/run/"))
    campaign = Campaign.objects.get()
    assert (campaign.template.body, campaign.repeat) == ("Come on Sunday", "weekly")
    assert campaign.runs.get().state == "scheduled"
