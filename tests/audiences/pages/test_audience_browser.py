"""The rule builder in a real Chromium, by keyboard alone: what it shows is what is saved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.audiences.audience import Audience
from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_audience, make_contact

pytestmark = pytest.mark.django_db(transaction=True)
PRO = {"field": "attributes.plan", "op": "in", "value": ["pro", "5"]}


def rules_in(page: Page) -> Any:
    return json.loads(page.input_value("#id_rules"))


def expect_focus_on(page: Page, name: str) -> None:
    expect(page.locator(":focus")).to_have_attribute("aria-label", name)


@pytest.mark.parametrize("width", [1360, 390])
def test_an_audience_is_built_and_saved_without_a_mouse(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
    width: int,
) -> None:
    make_contact(project, attributes={"plan": "pro", "points": 7})
    make_contact(project, attributes={"plan": "free", "points": 3})
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=width)
    page.goto(f"{live_server.url}/admin/campaigns/audience/add/")
    page.fill("#id_name", "Pros")
    expect(page.locator("#count")).to_contain_text("everyone")

    page.get_by_role("button", name="Add a rule").press("Enter")
    expect_focus_on(page, "What the rule is about")
    page.keyboard.type("plan")
    expect(page.get_by_label("Comparison")).to_be_visible()
    page.keyboard.press("Tab")
    expect_focus_on(page, "Comparison")
    page.keyboard.press("Tab")
    expect(page.locator("datalist option[value=pro]")).to_have_count(1)  # from real people
    page.keyboard.type("pro")
    page.keyboard.press("Enter")
    page.keyboard.type("5,")  # plan holds texts, so this is one
    assert rules_in(page) == {"all": [PRO]}
    expect(page.locator("#count")).to_contain_text("plan is one of pro, 5")
    expect(page.locator("#count-said")).to_have_text("1 person, 0 devices.")

    page.get_by_role("button", name="Add a group").press("Enter")
    expect_focus_on(page, "What the rule is about")
    page.keyboard.type("points")
    page.get_by_label("Number", exact=True).fill("5")
    page.get_by_label("Which of these must match").nth(1).select_option("None")
    points = {"field": "attributes.points", "op": "gte", "value": 5}
    assert rules_in(page) == {"all": [PRO, {"not": points}]}
    expect(page.locator("#count")).to_contain_text("Nobody matches")

    page.get_by_role("button", name="Remove this group and its rules").press("Enter")
    assert rules_in(page) == {"all": [PRO]}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url("**/campaigns/audience/")
    assert Audience.objects.get().rules == {"all": [PRO]}
    assert troubles == []


def test_a_list_is_asked_by_what_it_has_and_a_number_in_it_stays_one(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    make_contact(project, attributes={"likes": ["sport", 5]})
    make_contact(project, attributes={"likes": ["transport"]})
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/audience/add/")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("What the rule is about").select_option("attributes.likes")
    verbs = page.get_by_label("Comparison").locator("option").all_inner_texts()
    assert verbs == ["has", "has one of", "has none of", "is known", "is not known"]

    expect(page.locator("datalist option[value=sport]")).to_have_count(0)
    page.get_by_label("Add a value").focus()
    expect(page.locator("datalist option[value=sport]")).to_have_count(1)
    page.get_by_label("Add a value").press_sequentially("sport,5,")
    assert rules_in(page) == {
        "all": [{"field": "attributes.likes", "op": "has_any", "value": ["sport", 5]}]
    }
    expect(page.locator("#count")).to_contain_text("likes has one of sport, 5")
    expect(page.locator("#count-said")).to_have_text("1 person, 0 devices.")

    page.get_by_label("Comparison").select_option("has")
    assert rules_in(page) == {"all": [{"field": "attributes.likes", "op": "has", "value": "sport"}]}
    assert troubles == []


def test_looking_at_rules_changes_nothing_and_json_comes_back_as_blocks(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    make_contact(project, attributes={"plan": "pro"})
    odd = {
        "not": {
            "all": [{"field": "attributes.tier", "op": "within_last", "value": "P1DT2H"}, PRO],
        }
    }
    audience = make_audience(project, rules=odd)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/")
    expect(page.get_by_label("Which of these must match")).to_have_value("not_all")
    expect(page.get_by_text("No person has this attribute.")).to_be_visible()
    assert rules_in(page) == odd

    page.get_by_role("tab", name="Blocks").press("ArrowRight")
    expect(page.get_by_role("tab", name="JSON")).to_be_focused()
    page.fill("#id_rules", '{"all": [')
    expect(page.locator("#count")).to_contain_text("line 1, column 10")
    page.get_by_role("tab", name="JSON").press("ArrowLeft")
    expect(page.get_by_text("The JSON cannot be read as rules")).to_be_visible()

    page.get_by_role("tab", name="Blocks").press("ArrowRight")
    page.fill("#id_rules", json.dumps({"any": [PRO, {"field": "platform", "op": "eq"}]}))
    page.get_by_role("tab", name="JSON").press("ArrowLeft")
    page.get_by_label("Value", exact=True).select_option("iOS")
    page.get_by_role("button", name="Remove pro").press("Enter")
    only_five = {**PRO, "value": ["5"]}
    platform = {"field": "platform", "op": "eq", "value": "ios"}
    assert rules_in(page) == {"any": [only_five, platform]}
    page.get_by_role("button", name="Put this rule into a group of its own").first.press("Enter")
    assert rules_in(page) == {"any": [{"any": [only_five]}, platform]}
    page.get_by_role("button", name="Ungroup, and keep the rules").press("Enter")
    assert rules_in(page) == {"any": [only_five, platform]}
    assert troubles == []


def test_the_menu_in_the_head_of_a_phones_page_lies_over_the_page(
    browser: Browser,
    live_server: LiveServer,
    project: Project,
) -> None:
    audience = make_audience(project)
    page = log_in(browser, live_server, [], width=390)
    page.goto(f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/")
    page.get_by_label("More actions").click()
    page.locator("header a:visible", has_text="Duplicate").click()  # and not the form's field there
    expect(page.get_by_role("dialog")).to_contain_text("Duplicate this audience?")


def test_a_rule_about_absent_devices_warns_and_asks_the_person_after_one_click(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project)
    device = {"field": "last_seen_at", "op": "within_last", "value": "P30D"}
    audience = make_audience(project, rules={"all": [device, {"not": device}]})
    page = log_in(browser, live_server, [], width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/audience/{audience.pk}/change/")
    ask_person = page.get_by_role("button", name="Use when the person was last seen")
    expect(ask_person).to_have_count(1)  # “within” alone means what it says
    ask_person.press("Enter")
    person = {**device, "field": "person_seen_at"}
    assert rules_in(page) == {"all": [device, {"not": person}]}
    expect(ask_person).to_have_count(0)
    expect_focus_on(page, "What the rule is about")
