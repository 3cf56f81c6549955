"""A test send in a real browser: from the text as it stands to FCM's answer, on a phone's width."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.test_sends import tasks
from campaigns.test_sends.models import SentTest
from notifications.people.project import Project
from tests.browser.settled import wait_until_settled
from tests.given.builders import make_campaign, make_contact, make_template
from tests.servers.fcm import Fcm
from tests.test_sends.trying import make_tester

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, client: Client) -> Iterator[Page]:
    client.force_login(User.objects.create_superuser("alice", "alice@example.com", "a-long-pass"))
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, base_url=live_server.url, color_scheme="dark"
    )
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())  # “leave without saving?”
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    yield page
    context.close()
    assert troubles == []


def test_a_text_is_tried_before_it_is_saved_and_the_answers_come_by_themselves(
    page: Page, project: Project, fcm: Fcm
) -> None:
    make_tester(project, external_id="mina")
    make_tester(project, "dead-1:APA91b", external_id="leo")
    make_contact(project, external_id="sora", attributes={"first_name": "Sora"})
    template = make_template(project, name="Hello")
    page.goto(f"/admin/campaigns/template/{template.pk}/change/")
    page.locator("#id_title").fill("Not saved, {{ first_name }}")
    wait_until_settled(page)
    page.get_by_role("button", name="Send a test …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 people, 2 devices")
    values = dialog.get_by_label("Whose values (external id)")
    values.press_sequentially("so")
    expect(page.locator("#test-people option")).to_have_attribute("value", "sora")
    values.fill("sora")
    dialog.get_by_role("button", name="Send the test").click()
    expect(dialog).to_contain_text("On its way.")
    tasks.send_test(SentTest.objects.get().pk)
    expect(dialog).to_contain_text("Every device has its answer.")
    expect(dialog).to_contain_text("HTTP 404 UNREGISTERED")
    expect(dialog).to_contain_text("What to do: Nothing: the address comes back by itself")
    assert [one["title"] for one in fcm.witness()] == ["Not saved, Sora"]
    wide = "document.documentElement.scrollWidth"
    assert page.locator("html").evaluate(f"() => {wide}") <= 390
    dialog.locator(".c-dialog-foot").get_by_role("button", name="Close").click()
    expect(page.locator("#id_title")).to_have_value("Not saved, {{ first_name }}")


def test_the_review_of_a_campaign_sends_one_to_a_person(
    page: Page, project: Project, fcm: Fcm
) -> None:
    device = make_tester(project, external_id="mina")
    campaign = make_campaign(project)
    page.goto(f"/admin/campaigns/campaign/{campaign.pk}/change/?step=review")
    page.get_by_role("button", name="Send a test …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("One person").check()
    dialog.get_by_role("button", name="Send the test").click()
    expect(dialog).to_contain_text("Write the external id of the person.")
    dialog.get_by_label("External id of the person").fill("mina")
    dialog.get_by_role("button", name="Send the test").click()
    expect(dialog).to_contain_text("On its way.")
    tasks.send_test(SentTest.objects.get().pk)
    expect(dialog).to_contain_text("FCM took it.")
    assert [one["address"] for one in fcm.witness()] == [device.address]
