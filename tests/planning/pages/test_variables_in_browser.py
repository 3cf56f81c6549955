"""A text written in a campaign has the same buttons beside it as on a template's page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_audience, make_contact

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("width", [1360, 390])
def test_a_variable_is_put_into_a_text_written_in_a_campaign(
    browser: Browser, live_server: LiveServer, project: Project, width: int
) -> None:
    make_contact(project, attributes={"first_name": "Ada"})
    make_audience(project, name="Everyone")
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=width)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/add/")
    page.fill("#id_name", "Spring")
    page.select_option("#id_audience", label="Everyone")
    page.get_by_role("button", name="Save, then what they read").click()
    page.locator("#id_template_from_1").check()
    page.fill("#id_title", "Hi ")
    expect(page.locator("[data-beside=id_title] .t-count")).to_have_text("3 characters · 3 bytes")
    page.get_by_role("button", name="Insert a variable: Title").click()
    page.locator("#t-insert [value=first_name]").check()
    page.locator("#t-insert-do").click()
    expect(page.locator("#id_title")).to_have_value("Hi {{ first_name }}")
    expect(page.locator("#beside strong").first).to_contain_text("Hi Ada")
    page.fill("#id_body", "Come")
    # Else its preview would still be on the way when the page is left.
    expect(page.locator("#beside")).to_contain_text("Come")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#saved")).to_have_text("Draft saved.")
    assert Campaign.objects.get().template.title == "Hi {{ first_name }}"
    width_of = "document.documentElement.scrollWidth"
    assert page.evaluate(width_of) <= width
    assert troubles == []


def test_a_value_is_inserted_in_the_way_it_is_to_be_written(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project, attributes={"ends_at": "2026-12-05T12:00:00Z"}, locale="ko")
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/template/add/")
    page.fill("#id_title", "Until ")
    page.get_by_role("button", name="Insert a variable: Title").click()
    page.locator("#t-insert [value=ends_at]").check()
    page.get_by_label("Written").select_option(label="as a day: December 5")
    page.get_by_label("If a person has none, say").fill("soon")
    expect(page.locator("#t-insert-shown")).to_have_text(
        "{{ ends_at | date: 'day' | default: 'soon' }}"
    )
    page.locator("#t-insert-do").click()
    expect(page.locator("#preview")).to_contain_text("Until 12월 5일")
    assert troubles == []
