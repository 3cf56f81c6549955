"""The template's forms in front of JSON, in a real Chromium: what is typed is what is stored."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.browser.sessions import end_the_session, log_in, log_in_again
from tests.given.builders import make_contact, make_template

pytestmark = pytest.mark.django_db(transaction=True)


def open_editor(
    browser: Browser, server: LiveServer, troubles: list[str], path: str, *, width: int
) -> Page:
    page = log_in(browser, server, troubles, width=width)
    page.goto(f"{server.url}/admin/campaigns/template/{path}")
    expect(page.locator("#id_locales")).to_be_hidden()
    return page


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/campaigns/template/")


def test_a_variable_goes_where_the_cursor_was_by_keyboard_alone(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project, attributes={"first_name": "Ada"})
    template, troubles = make_template(project, title="Hi"), list[str]()
    page = open_editor(browser, live_server, troubles, f"{template.pk}/change/", width=390)
    page.locator("#id_title").focus()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#t-insert [value=first_name]").press("Space")
    page.fill("#t-insert-fallback", "there's you")
    expect(page.locator("#t-insert-fate")).to_have_text("People without it read the fallback.")
    page.keyboard.press("Enter")
    expect(page.locator("#id_title")).to_be_focused()
    save(page)
    template.refresh_from_db()
    assert template.title == 'Hi{{ first_name | default: "there\'s you" }}'
    assert troubles == []


def test_another_language_is_a_tab_that_shows_its_mistakes(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project, attributes={"city": "Seoul"})
    template, troubles = make_template(project, title="Hi"), list[str]()
    page = open_editor(browser, live_server, troubles, f"{template.pk}/change/", width=390)
    page.fill("#t-add-tag", "ko")
    page.keyboard.press("Enter")
    title = page.locator("#t-in-title")
    expect(title).to_be_focused()
    expect(page.locator("#id_title")).to_be_hidden()
    title.fill("안녕 {{ city")
    count = page.locator("[data-beside=t-in-title] .t-count")
    expect(count).to_have_text("10 characters · 14 bytes")
    title.fill("!")
    expect(count).to_have_text("1 character · 1 byte")
    title.fill("안녕 {{ city")
    expect(title).to_have_attribute("aria-invalid", "true")
    page.locator("#t-tab-").click()
    expect(page.locator("#t-tab-ko")).to_contain_text("has a mistake")
    page.locator(".t-go").click()
    expect(title).to_be_focused()
    title.fill("안녕 {{ city }}")
    expect(page.locator("#t-tab-ko .c-dot")).to_be_hidden()
    page.locator("#preview-speaks-ko").click()
    expect(page.locator(".c-push")).to_contain_text("안녕 Seoul")
    save(page)
    template.refresh_from_db()
    assert template.locales == {"ko": {"title": "안녕 {{ city }}"}}
    assert troubles == []


def test_a_language_typed_another_way_is_the_tab_that_is_there(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    template, troubles = make_template(project, locales={"pt_br": {"title": "Oi"}}), list[str]()
    page = open_editor(browser, live_server, troubles, f"{template.pk}/change/", width=1360)
    for typed, shown in (("PT-BR", "Oi"), ("zh_hant", "")):
        page.fill("#t-add-tag", typed)
        page.keyboard.press("Enter")
        expect(page.locator("#t-in-title")).to_have_value(shown)
    page.fill("#t-in-title", "繁體")
    save(page)
    template.refresh_from_db()
    assert template.locales == {"pt-BR": {"title": "Oi"}, "zh-Hant": {"title": "繁體"}}
    assert troubles == []


def test_options_and_data_are_fields_and_rows(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    options = {"ios": {"relevance_score": 0.5}}
    template = make_template(project, title="Hi", data={"screen": "offers"}, options=options)
    troubles: list[str] = []
    page = open_editor(browser, live_server, troubles, f"{template.pk}/change/", width=1360)
    page.locator("details.t-platform", has_text="iOS").locator("summary").click()
    page.get_by_label("Number on the icon").fill("3")
    page.get_by_role("button", name="Add a value").click()
    page.get_by_label("Name", exact=True).last.fill("event")
    page.get_by_label("Text", exact=True).last.fill("autumn")
    save(page)
    template.refresh_from_db()
    assert template.options == {"ios": {"badge": 3, "relevance_score": 0.5}}
    assert template.data == {"screen": "offers", "event": "autumn"}
    assert troubles == []


def test_what_was_typed_when_the_session_ended_is_offered_again(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    template, troubles = make_template(project, title="Hi", locales={"ko": {}}), list[str]()
    page = open_editor(browser, live_server, troubles, f"{template.pk}/change/", width=1360)
    page.locator("#t-tab-ko").click()
    page.fill("#t-in-title", "길게 쓴 글")
    end_the_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    log_in_again(page)
    page.get_by_role("button", name="Bring it back").click()
    page.locator("#t-tab-ko").click()
    expect(page.locator("#t-in-title")).to_have_value("길게 쓴 글")
    save(page)
    page.goto(f"{live_server.url}/admin/campaigns/template/{template.pk}/change/")
    expect(page.locator("#t-tab-ko")).to_be_visible()
    expect(page.locator("#draft")).to_be_hidden()
    template.refresh_from_db()
    assert template.locales == {"ko": {"title": "길게 쓴 글"}}


def test_json_that_cannot_be_read_stays_as_it_was_typed(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/template/add/")
    page.get_by_text("Languages as JSON").click()
    page.fill("#id_locales", '{"ko": {"title": "하나"}, "de": {')
    expect(page.get_by_text("Correct it, and the tabs follow.")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#id_locales")).to_have_value('{"ko": {"title": "하나"}, "de": {')
    expect(page.locator("#id_locales")).to_be_visible()
    page.fill("#id_locales", '{"ko": {"title": "하나"}}')
    expect(page.locator("#t-tab-ko")).to_be_visible()
    assert not Template.objects.exists()
    assert troubles == []


def test_what_the_server_refuses_of_languages_data_and_options_stands_beside_them(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    template, troubles = make_template(project, title="Hi"), list[str]()
    page = open_editor(browser, live_server, troubles, f"{template.pk}/change/", width=390)
    page.evaluate(
        """refused => Object.entries(refused).forEach(
            ([id, json]) => { document.getElementById(id).value = json })""",
        {
            "id_locales": '{"ko": {"titel": "x"}}',
            "id_data": '{"from": "us"}',
            "id_options": '{"andriod": {}}',
        },
    )
    page.get_by_role("button", name="Save", exact=True).click()
    for field in ("locales", "data", "options"):
        expect(page.locator(f".field-{field} .errorlist")).to_be_visible()
    first = "(words) => getComputedStyle(words, '::first-letter').textTransform"
    shown = page.locator("#preview .t-words")
    expect(shown).not_to_have_count(0)
    assert {word.evaluate(first) for word in shown.all()} == {"none"}
    template.refresh_from_db()
    assert template.data == {} and template.locales == {}
