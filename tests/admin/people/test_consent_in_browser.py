"""People on a phone and in a dialog: what is written of them can be read, and ticks depend."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_contact

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_categories_follow_all_marketing_and_come_back_as_they_were(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    news = Category.objects.create(project=project, name="News", slug="news")
    contact, troubles = make_contact(project), list[str]()
    page = log_in(browser, live_server, troubles, width=1360)

    def ask() -> None:
        page.goto(f"{live_server.url}/admin/notifications/contact/{contact.pk}/change/")
        page.get_by_role("button", name="Change what they want").or_(
            page.get_by_role("link", name="Change what they want")
        ).first.click()

    def save() -> None:
        page.locator("#dialog-form button[type=submit]").click()
        expect(page.get_by_text("Saved.")).to_be_visible()

    all_of_it = page.locator("[name=everything]")
    of_offers, of_news = (page.locator(f"[name=about_{one.pk}]") for one in (offers, news))
    ask()
    of_news.uncheck()
    all_of_it.uncheck()
    for box in (of_offers, of_news):
        expect(box).to_be_disabled()
        expect(box).not_to_be_checked()
    all_of_it.check()
    expect(of_offers).to_be_checked()
    expect(of_news).not_to_be_checked()
    of_news.check()
    all_of_it.uncheck()
    save()
    contact.refresh_from_db()
    assert (contact.subscribed, contact.preferences) == (False, {})

    ask()
    expect(of_offers).to_be_disabled()
    expect(of_offers).not_to_be_checked()
    all_of_it.check()
    expect(of_offers).to_be_checked()
    of_offers.uncheck()
    save()
    contact.refresh_from_db()
    assert contact.subscribed is True
    assert [name for name, said in contact.preferences.items() if not said["wanted"]] == ["offers"]
    assert troubles == []


def test_what_is_known_of_a_person_is_whole_on_a_phone(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    known = {f"a_longer_name_{n}": "a value of some length" for n in range(4)}
    make_contact(project, attributes=known)
    page = log_in(browser, live_server, list[str](), width=390)
    page.goto(f"{live_server.url}/admin/notifications/contact/")
    about = page.locator(".c-clip").first
    expect(about).to_contain_text("a longer name 3")
    assert about.evaluate("one => one.scrollWidth <= one.clientWidth || one.clientWidth === 0")
    left, right = about.evaluate(
        "one => [one.getBoundingClientRect().left, one.getBoundingClientRect().right]"
    )
    assert 0 <= left < right <= 390
    assert about.evaluate("one => getComputedStyle(one).whiteSpace") == "normal"
