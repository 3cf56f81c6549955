"""A snippet written, translated and put into a template, in a real Chromium, by who only clicks."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, FilePayload, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_contact, make_snippet, make_template

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_snippet_is_written_in_two_languages_and_read_beside_the_form(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project, external_id="ada", locale="ko-KR", attributes={"first_name": "Ada"})
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=390)
    page.goto(f"{live_server.url}/admin/campaigns/snippet/add/")
    page.fill("#id_name", "footer")
    page.fill("#id_text", "Shop for {{ first_name }}")
    expect(page.locator("#preview .t-said")).to_have_text("Shop for Ada")
    page.fill("#t-add-tag", "ko")
    page.keyboard.press("Enter")
    expect(page.locator("#t-in-text")).to_be_focused()
    expect(page.locator("#id_text")).to_be_hidden()
    page.fill("#t-in-text", "{{ first_name }}님의 샵")
    expect(page.locator("#preview .t-said")).to_have_text("Ada님의 샵")
    page.fill("#t-in-text", "{{ first_name")
    expect(page.locator("#t-panel .t-wrong").first).to_contain_text("never closed")
    page.fill("#t-in-text", "샵")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/campaigns/snippet/")
    said = {"text": "Shop for {{ first_name }}", "locales": {"ko": {"text": "샵"}}}
    assert Snippet.objects.get().says() == said
    assert troubles == []


def test_the_picker_puts_a_snippet_into_a_title_and_offers_none_for_a_link(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project, locale="ko", attributes={"first_name": "Ada"})
    make_snippet(project, "footer", "Shop", ko="샵")
    template, troubles = make_template(project, title="Hi "), list[str]()
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/template/{template.pk}/change/")
    page.locator("[data-beside=id_link] button").first.click()
    expect(page.locator("#t-insert [value=first_name]")).to_be_visible()
    expect(page.locator("#t-insert [value='snippet.footer']")).to_be_hidden()
    page.locator("#t-insert").get_by_role("button", name="Close").click()

    page.locator("#id_title").focus()
    page.keyboard.press("End")
    page.locator("[data-beside=id_title] button").first.click()
    page.locator("#t-insert [value='snippet.footer']").click()
    expect(page.locator("#t-insert-else")).to_be_hidden()
    expect(page.locator("#t-insert-fate")).to_contain_text("in their language")
    page.locator("#t-insert-do").click()
    expect(page.locator("#id_title")).to_have_value("Hi {{ snippet.footer }}")
    expect(page.locator("#preview .c-push strong")).to_have_text("Hi 샵")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/campaigns/template/")
    assert Template.objects.get().title == "Hi {{ snippet.footer }}"
    assert troubles == []


def test_translations_are_taken_out_and_brought_in_on_the_pages(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project, locale="ko", attributes={"first_name": "Ada"})
    template, troubles = make_template(project), list[str]()
    page = log_in(browser, live_server, troubles, width=390, dark=True)
    page.goto(f"{live_server.url}/admin/campaigns/template/{template.pk}/change/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as CSV").click()
    text = download.value.path().read_text("utf-8-sig")
    assert text.splitlines()[0] == "id,field,source,ko"

    page.get_by_role("link", name="Import translations").click()
    filled = text.replace("Hello {{ first_name }},", "Hello {{ first_name }},{{ first_name }}님", 1)
    file = FilePayload(name="back.csv", mimeType="text/csv", buffer=filled.encode())
    page.set_input_files("#id_file", file)
    page.get_by_role("button", name="Look at it").click()
    page.get_by_role("button", name="Save 1 text").click()
    page.wait_for_url(f"**/template/{template.pk}/change/")
    template.refresh_from_db()
    assert template.locales == {"ko": {"title": "{{ first_name }}님"}}
    assert troubles == []
