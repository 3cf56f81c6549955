"""Rules on what happened, built on the screen alone: sentence, count, one person; then a dialog."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.runs.ledger import Recipient
from notifications.people.contact import Contact
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.browser.rule_editor import add_rule, rule_at
from tests.browser.sessions import log_in
from tests.given.builders import make_audience
from tests.given.runs import doubtful, opened_by_some

pytestmark = pytest.mark.django_db(transaction=True)


BUILT = {
    "all": [
        {
            "field": "event",
            "op": "did",
            "value": {
                "name": "bought",
                "within": "P30D",
                "where": [{"property": "price", "op": "gte", "value": 10}],
            },
        },
        {"field": "run", "op": "was_not", "value": {"outcome": "accepted", "run": "last"}},
        {"field": "random", "op": "lte", "value": {"percent": 100, "seed": "spring"}},
        {"field": "people", "op": "lte", "value": {"most": 5}},
    ]
}


def rules_in(page: Page) -> Any:
    return json.loads(page.input_value("#id_rules"))


def build(page: Page) -> None:
    """Four rules, each chosen and filled by what the screen calls its parts."""
    event = add_rule(page, 1, "event")
    expect(event.locator("datalist option[value=bought]")).to_have_count(1)
    event.get_by_label("Name of the event").fill("bought")
    event.get_by_label("In the last how many days").fill("30")
    event.get_by_role("button", name="where …").press("Enter")
    event.get_by_label("Property").fill("price")
    event.get_by_label("Comparison").last.select_option("gte")
    event.get_by_label("Value").fill("10")
    event.get_by_label("Value").press("Tab")
    past = add_rule(page, 2, "run")
    past.get_by_label("Comparison").select_option("was_not")
    chance = add_rule(page, 3, "random")
    chance.get_by_label("Per cent of the people").fill("100")
    chance.get_by_label("Draw").fill("spring")
    most = add_rule(page, 4, "people")
    most.get_by_label("How many people").fill("5")
    most.get_by_label("Draw").fill("")


def test_rules_on_what_happened_are_built_counted_and_explained_before_they_are_saved(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    run = doubtful(project)
    names = dict(Contact.objects.values_list("pk", "external_id"))
    by_seq = Recipient.objects.filter(run_id=run.pk).values_list("seq", "contact_id")
    accepted, unknown = (names[dict(by_seq)[seq]] for seq in (1, 2))
    bought = [Event(one, "bought", timezone.now(), {"price": 30}) for one in (accepted, unknown)]
    assert not write(project.pk, bought)
    troubles: list[str] = []
    asked: list[Any] = []

    def listen(request: Request) -> None:
        if request.url.endswith("/count/"):
            asked.append(parse_qs(request.post_data or "").get("rules", ['{"all": []}'])[0])

    page = log_in(browser, live_server, troubles, width=1360)
    page.on("request", listen)
    page.goto(f"{live_server.url}/admin/campaigns/audience/add/")
    expect(page.locator("#count")).to_contain_text("everyone")

    build(page)
    assert rules_in(page) == BUILT
    expect(page.locator("#count")).to_contain_text(
        "did “bought” within the last 30 days where price is at least 10 and was not reached by"
        " the last run and is among a random 100 % (draw “spring”) and at most 5 people"
    )
    expect(page.locator("#count-said")).to_have_text("1 person, 1 device.")

    # A rule that is only begun is sent by nobody, and one person is answered without it.
    page.get_by_role("button", name="Add a rule").press("Enter")
    page.locator("#id_rules").dispatch_event("rules-changed")
    page.locator("[name=person]").fill(unknown)
    page.get_by_role("button", name="Ask").press("Enter")
    expect(page.locator("#person")).to_contain_text(f"{unknown} is in.")
    expect(page.locator("#person")).to_contain_text("placed at ")
    page.locator("[name=person]").fill(accepted)
    page.get_by_role("button", name="Ask").press("Enter")
    expect(page.locator("#person")).to_contain_text(f"{accepted} is not in.")
    expect(page.locator("#person")).to_contain_text(f"run {run.pk}: accepted")
    assert len(asked) >= 2 and not any('"field": ""' in sent for sent in asked)
    expect(page.locator("#count .c-notice-danger")).to_have_count(0)
    rule_at(page, 5).get_by_role("button", name="Remove this rule").press("Enter")

    assert troubles == []


def test_such_rules_come_back_as_blocks_on_a_phone_too(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    doubtful(project)
    saved = make_audience(project, rules=BUILT)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=390, dark=True)
    page.goto(f"{live_server.url}/admin/campaigns/audience/{saved.pk}/change/")
    expect(rule_at(page, 1).get_by_label("Name of the event")).to_have_value("bought")
    expect(rule_at(page, 1).get_by_label("In the last how many days")).to_have_value("30")
    expect(rule_at(page, 2).get_by_label("In which runs")).to_have_value("last")
    assert rules_in(page) == BUILT
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert troubles == []


def test_the_focus_stays_in_a_dialog_and_goes_back_where_it_was(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    run = doubtful(project)
    page = log_in(browser, live_server, [], width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")
    page.locator("#verb-rest").press("Enter")
    dialog = page.get_by_role("dialog", name="Send to the rest")
    expect(dialog).to_contain_text("1 person of this run was accepted on no device.")
    inside = "document.getElementById('dialog').contains(document.activeElement)"
    expect(dialog.locator(":focus")).to_be_visible()

    for key in [*["Tab"] * 7, *["Shift+Tab"] * 9]:
        page.keyboard.press(key)
        assert page.evaluate(inside), key
    page.evaluate("document.querySelector('#run-verbs a').focus()")
    assert page.evaluate(inside)

    page.keyboard.press("Escape")
    expect(page.locator("#verb-rest")).to_be_focused()
    page.locator("#verb-rest").press("Enter")
    dialog.get_by_label("Also those whose outcome is unknown").check()
    dialog.get_by_role("button", name="Make the campaign").press("Enter")
    page.wait_for_url("**/campaigns/campaign/*/change/**")
    expect(page.locator("body")).to_contain_text("goes to 1 person")


def test_while_a_rule_is_unfinished_the_page_says_so_and_each_hint_once(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    page = log_in(browser, live_server, [], width=1360)
    page.route("**/count/", lambda _route: None)  # an answer that does not come
    page.goto(f"{live_server.url}/admin/campaigns/audience/add/")
    expect(page.locator("#count")).to_contain_text("Counting …")
    event = add_rule(page, 1, "event")
    expect(page.locator("#count")).to_contain_text("Finish the rule")
    expect(event.get_by_text("time", exact=True)).to_be_visible()
    event.get_by_label("At least how many times").fill("2")
    expect(event.get_by_text("times", exact=True)).to_be_visible()
    chance = add_rule(page, 2, "random")
    expect(chance.get_by_text("The same people each time")).to_have_count(1)


def test_an_unfinished_rule_takes_away_the_count_of_the_rules_before_it(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    page = log_in(browser, live_server, [], width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/audience/add/")
    expect(page.locator("#count")).to_contain_text("everyone")
    add_rule(page, 1, "event")
    expect(page.locator("#count")).to_have_text(
        "Finish the rule that has no value yet; then it is counted."
    )
    expect(page.locator("#count-said")).to_have_text("")
    page.get_by_role("button", name="Remove this rule").click()
    expect(page.locator("#count")).to_contain_text("everyone")


def test_who_has_not_opened_it_is_asked_of_those_alone_whose_phones_can_tell(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    run = opened_by_some(project)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/audience/add/")
    asked = add_rule(page, 1, "run")
    asked.get_by_label("Outcome").select_option("not_opened")
    expect(page.locator("#count")).to_contain_text("Of 3, 1 has a phone that cannot tell")
    expect(page.locator("#count-said")).to_have_text("3 people, 3 devices.")

    asked.get_by_label("Whose phones").select_option("can_tell")
    expect(page.locator("#count")).to_contain_text(
        "was reached by the last run, can tell of it, and did not open it"
    )
    expect(page.locator("#count-said")).to_have_text("2 people, 2 devices.")
    value = {"outcome": "not_opened", "run": "last", "can_tell": True}
    assert rules_in(page) == {"all": [{"field": "run", "op": "was", "value": value}]}
    page.locator("[name=person]").fill("silent")
    page.get_by_role("button", name="Ask").press("Enter")
    told = f"run {run.pk}: accepted; nothing reported, and it cannot tell"
    expect(page.locator("#person")).to_contain_text(told)

    asked.get_by_label("Outcome").select_option("opened")
    expect(page.locator("#count-said")).to_have_text("2 people, 2 devices.")
    assert rules_in(page)["all"][0]["value"] == {"outcome": "opened", "run": "last"}
    assert troubles == []
