"""The session ends while somebody types: nothing typed is lost, and what arrived is not offered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.audiences.audience import Audience
from notifications.people.project import Project
from tests.browser.sessions import end_the_session, log_in, log_in_again
from tests.given.builders import make_audience, make_campaign, make_contact

pytestmark = pytest.mark.django_db(transaction=True)
PRO: dict[str, Any] = {"all": [{"field": "attributes.plan", "op": "eq", "value": "pro"}]}


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


def test_an_audience_half_built_is_offered_again(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    make_contact(project, attributes={"plan": "pro"})
    audience, troubles = make_audience(project, name="VIPs", rules={"all": []}), list[str]()
    page = log_in(browser, live_server, troubles, width=1360)
    address = f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/"
    page.goto(address)
    page.fill("#id_name", "Pros")
    page.get_by_role("tab", name="JSON").click()
    page.fill("#id_rules", json.dumps(PRO))
    end_the_session(page)
    save(page)
    log_in_again(page)

    expect(page.locator("#id_name")).to_have_value("VIPs")
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator("#id_name")).to_have_value("Pros")
    expect(page.get_by_label("Value", exact=True)).to_be_visible()  # the blocks are drawn anew
    expect(page.locator("#count")).to_contain_text("plan is pro")
    save(page)
    page.wait_for_url("**/campaigns/audience/")
    audience.refresh_from_db()
    assert (audience.name, audience.rules) == ("Pros", PRO)

    # It arrived; that a colleague has changed it since makes it no draft.
    Audience.objects.update(rules={"all": []})
    page.goto(address)
    expect(page.locator("#count")).to_contain_text("everyone")
    expect(page.locator("#draft")).to_be_hidden()
    assert troubles == []


def test_launching_what_was_edited_saves_it_first_and_then_shows_the_review(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    make_contact(project)
    campaign, troubles = make_campaign(project, name="Spring"), list[str]()
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=who")
    page.get_by_role("button", name="Save draft").click()
    saved = page.get_by_text("Draft saved.")
    expect(saved).to_be_visible()
    page.fill("#id_name", "Summer")
    expect(saved).to_have_count(0)
    launch = page.locator("[hx-get$='/launch/']").filter(has_text="Launch").first
    launch.click()
    page.wait_for_url("**step=review**")
    campaign.refresh_from_db()
    assert campaign.name == "Summer"
    expect(page.locator("#dialog")).to_have_count(0)
    expect(page.get_by_text("Nothing was launched: look at it once more")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Nothing was launched: look at it once more")).to_be_hidden()
    launch.click()  # nothing is unsaved now
    expect(page.get_by_role("heading", name="Launch “Summer”?")).to_be_visible()
    assert troubles == []


def test_a_campaign_half_written_is_in_the_form_again(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    campaign, troubles = make_campaign(project, name="Spring"), list[str]()
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=who")
    page.fill("#id_name", "Spring for all")
    end_the_session(page)
    page.get_by_role("button", name="Save, then what they read").click()
    log_in_again(page)
    expect(page.locator("#kept")).to_be_visible()
    expect(page.locator("#id_name")).to_have_value("Spring for all")
    page.get_by_role("button", name="Save, then what they read").click()
    page.wait_for_url("**step=what**")
    campaign.refresh_from_db()
    assert campaign.name == "Spring for all"
    assert troubles == []


def test_what_was_typed_at_the_last_moment_is_kept_too(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    campaign, audience, troubles = make_campaign(project), make_audience(project), list[str]()
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=who")
    leave_as_soon_as_it_is_typed(page, "Spring for all")
    expect(page.locator("#kept")).to_be_visible()
    expect(page.locator("#id_name")).to_have_value("Spring for all")
    page.locator("#kept-discard").click()
    expect(page.locator("#id_name")).to_have_value(campaign.name)
    expect(page.locator("#kept")).to_be_hidden()

    page.goto(f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/")
    leave_as_soon_as_it_is_typed(page, "Everybody awake")
    page.click("#draft-bring")
    expect(page.locator("#id_name")).to_have_value("Everybody awake")
    assert troubles == []


def leave_as_soon_as_it_is_typed(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.locator("#id_name").evaluate(
            """(field, name) => {
              field.value = name;
              field.dispatchEvent(new Event("input", { bubbles: true }));
              location.reload();
            }""",
            name,
        )
