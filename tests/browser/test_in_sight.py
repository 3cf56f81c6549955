"""What stands on the screen is of now, and not behind the buttons that save."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from campaigns import tasks
from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.browser.sessions import log_in
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
)
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db(transaction=True)
PLAN = {"field": "attributes.plan", "op": "eq", "value": "pro"}


def test_a_panel_that_got_no_answer_does_not_show_the_last_one(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 2)
    page = log_in(browser, live_server, [], width=1360)
    campaign = make_campaign(project)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=when")
    beside = page.locator("#beside")
    expect(beside).to_contain_text("The moment you launch it.")

    page.context.clear_cookies(name="csrftoken")  # refused, as after a log-in in another tab
    page.get_by_label("At a time").check()
    page.get_by_label("Local time").fill("2030-05-01T09:00")
    expect(beside).to_contain_text("The server gave no answer to your last change.")
    expect(beside).not_to_contain_text("The moment you launch it.")
    page.reload()
    expect(beside).to_contain_text("1 May 2030, 09:00")


@pytest.fixture
def of_template(browser: Browser, live_server: LiveServer, project: Project) -> Page:
    page = log_in(browser, live_server, [], width=1360)
    template = make_campaign(project).template
    page.goto(f"{live_server.url}/admin/campaigns/template/{template.pk}/change/")
    return page


def test_a_dialog_that_got_no_answer_says_so_once(of_template: Page) -> None:
    address = of_template.url
    of_template.route("**/duplicate/", lambda route: _unless_shown(route))
    of_template.get_by_role("link", name="Duplicate").click()
    dialog = of_template.get_by_role("dialog")
    said = dialog.get_by_text("The server gave no answer, so it may not be done.")

    dialog.get_by_role("button", name="Duplicate").click()
    expect(said).to_be_visible()
    dialog.get_by_role("button", name="Duplicate").click()
    expect(said).to_have_count(1)
    of_template.unroute("**/duplicate/")
    dialog.get_by_role("button", name="Duplicate").click()
    expect(of_template).not_to_have_url(address)
    assert Template.objects.count() == 2


def test_a_dialog_that_cannot_be_shown_is_not_one_from_before(of_template: Page) -> None:
    dialog = of_template.get_by_role("dialog")
    opens = of_template.get_by_role("link", name="Duplicate")
    opens.click()
    expect(dialog).to_contain_text("Duplicate")
    of_template.keyboard.press("Escape")

    of_template.route("**/duplicate/", lambda route: route.fulfill(status=503, body=""))
    opens.click()
    expect(dialog).to_contain_text("The server gave no answer. Nothing was done; try again")
    expect(dialog).not_to_contain_text("Duplicate")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    of_template.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(opens).to_be_focused()

    of_template.unroute("**/duplicate/")
    opens.click()
    expect(dialog).to_contain_text("Duplicate")


def _unless_shown(route: Route) -> None:
    """The dialog comes; what it asks for does not get through."""
    if route.request.method == "POST":
        route.fulfill(status=500, body="")
    else:
        route.continue_()


@pytest.mark.parametrize("width", [1360, 390])
def test_a_rule_that_grows_is_not_behind_the_buttons(
    browser: Browser, live_server: LiveServer, project: Project, width: int
) -> None:
    page = log_in(browser, live_server, [], width=width)
    audience = make_audience(project, rules={"all": [PLAN] * 9})
    page.goto(f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/")
    page.get_by_role("button", name="Add a rule").press("Enter")
    rule = page.get_by_role("group", name="Rule 10", exact=True)
    rule.get_by_label("What the rule is about").select_option("event")
    expect(rule.get_by_role("link", name="How to send events")).to_be_visible()
    expect(rule).to_contain_text("This project has no events yet.")
    eventually("the rule is whole on the screen", lambda: rule.evaluate(ENDS_IN_SIGHT), seconds=5)


ENDS_IN_SIGHT = """(rule) => {
  const { left, bottom } = rule.getBoundingClientRect();
  return rule.contains(document.elementFromPoint(left + 12, bottom - 4));
}"""


def test_all_that_is_said_of_a_message_is_in_sight_on_a_phone(
    browser: Browser, live_server: LiveServer, project: Project, fcm: Fcm
) -> None:
    make_device(make_contact(project, external_id="ada-" + "a" * 40), "dead-1:APA91b-of-a-phone")
    asked = {"to": {"device": "dead-1:APA91b-of-a-phone"}, "content": {"title": "On its way",
             "body": "Your order left."}}  # fmt: skip
    name = Caller(project).post("messages", asked).json()["id"]
    tasks.send_messages()
    page = log_in(browser, live_server, [], width=390)
    for path in ("", f"{name}/"):
        page.goto(f"{live_server.url}/admin/campaigns/message/{path}")
        (table,) = page.locator(".c-scroll").all()
        expect(table.get_by_text("1 rejected" if not path else "Rejected")).to_be_visible()
        assert table.evaluate("(table) => table.scrollWidth <= table.clientWidth"), path
