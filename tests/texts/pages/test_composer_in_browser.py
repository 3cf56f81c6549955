"""The page of a template in a real Chromium: what is cut, images, buttons, emoji, a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.texts.template import Template
from config.boot.images import image_storage
from notifications.images.image import Image
from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_campaign, make_contact, make_template
from tests.images.pictures import png

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: LazySettings) -> None:
    kept = image_storage("", "", folder=str(tmp_path / "images"))
    settings.STORAGES = {**settings.STORAGES, "images": kept}
    settings.PUBLIC_URL = "https://push.example.com"
    settings.IMAGES_URL = "https://push.example.com/i"


def test_an_emoji_is_put_in_and_what_is_cut_is_told_while_one_writes(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_contact(project)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/template/add/")
    page.fill("#id_title", "Sale ")
    page.locator("[data-beside=id_title]").get_by_role("button", name="Emoji").click()
    page.get_by_role("button", name="🎉").click()
    expect(page.locator("#id_title")).to_have_value("Sale 🎉")
    page.fill("#id_body", "b" * 130)
    expect(page.locator("[data-beside=id_body] .t-count")).to_have_text(
        "130 characters · 130 bytes · cut on Android, Web"
    )
    expect(page.locator("#preview .c-cut-opened").first).to_have_text("b" * 85)
    page.fill("#id_body", "가" * 23)
    expect(page.locator("[data-beside=id_body] .t-count")).to_have_text(
        "23 characters · 69 bytes · cut on Android"
    )
    assert troubles == []


def test_a_message_gets_an_image_and_buttons_whatever_is_wrong_elsewhere(
    browser: Browser, live_server: LiveServer, project: Project, tmp_path: Path
) -> None:
    make_contact(project)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/template/add/")
    for name, text in (("name", "Spring"), ("title", "Sale"), ("body", "Come")):
        page.fill(f"#id_{name}", text)
    (tmp_path / "sale.png").write_bytes(png(200, 100))
    page.get_by_role("button", name="Upload or choose an image").first.click()
    page.set_input_files("#t-images-file", tmp_path / "sale.png")
    expect(page.locator("#t-images")).not_to_be_visible()
    made = Image.objects.get()
    expect(page.locator("#id_image")).to_have_value(made.address)
    picture = page.locator("#preview .c-picture")
    expect(picture).to_have_attribute("src", f"/i/{made.name}")
    assert picture.evaluate("async (one) => (await one.decode(), one.naturalWidth)") == 200

    page.get_by_role("button", name="Add a button").click()
    first = page.get_by_role("group", name="Button 1")
    first.get_by_label("What it says").fill("Open")
    first.get_by_label("Opens").fill("https://example.com/")
    expect(page.locator("#preview .c-push-actions")).to_have_text("Open")
    expect(page.locator("#preview")).to_contain_text("Your app draws the buttons")

    page.fill("#id_link", "javascript:x")
    expect(page.locator("#preview .t-problem")).to_contain_text("must be https://")
    expect(page.locator("#preview .c-push-actions")).to_have_text("Open")
    page.fill("#id_link", "https://example.com/all")
    expect(page.locator("#preview .t-problem")).to_have_count(0)

    page.fill("#t-add-tag", "ko")
    page.get_by_role("button", name="Add a language").click()
    page.locator("#t-panel").get_by_label("Button open").fill("열기")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/template/")
    template = Template.objects.get()
    assert template.buttons == [{"id": "open", "title": "Open", "link": "https://example.com/"}]
    assert template.locales == {"ko": {"buttons": {"open": "열기"}}}
    assert template.image == made.address
    assert troubles == []


def test_an_image_that_is_there_is_taken_and_one_that_is_refused_says_why(
    browser: Browser, live_server: LiveServer, project: Project, tmp_path: Path
) -> None:
    template = make_template(project)
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/notifications/image/add/")
    (tmp_path / "sale.png").write_bytes(png())
    (tmp_path / "page.png").write_bytes(b"<!doctype html>")
    (tmp_path / "large.png").write_bytes(b"x" * 1_000_001)
    page.set_input_files("[name=file]", tmp_path / "sale.png")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("main, #content, body").first).to_contain_text("“sale.png” is uploaded.")

    page.goto(f"{live_server.url}/admin/campaigns/template/{template.pk}/change/")
    page.get_by_role("button", name="Upload or choose an image").first.click()
    expect(page.locator(".t-offered-one")).to_have_count(1)
    page.set_input_files("#t-images-file", tmp_path / "large.png")
    expect(page.locator("#t-images-said")).to_have_text(
        "The image has 1,001 KB; Android shows at most 1,000 KB. Save it smaller."
    )
    page.set_input_files("#t-images-file", tmp_path / "page.png")
    expect(page.locator("#t-images-said")).to_contain_text("This is no PNG, JPEG or WebP image.")
    page.locator(".t-offered-one").click()
    expect(page.locator("#id_image")).to_have_value(Image.objects.get().address)
    expect(page.locator("#id_image")).to_be_focused()
    assert [one for one in troubles if "400" not in one] == []


@pytest.mark.parametrize("page_name", ["template", "campaign"])
def test_on_a_phone_the_preview_stands_above_what_one_writes(
    browser: Browser, live_server: LiveServer, project: Project, page_name: str
) -> None:
    make_contact(project)
    template = make_template(project, title="Hi")
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=390)
    if page_name == "template":
        page.goto(f"{live_server.url}/admin/campaigns/template/{template.pk}/change/")
        phone, field = page.locator("#preview .c-push"), page.locator("#id_title")
    else:
        campaign = make_campaign(project, template=template)
        page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=what")
        page.locator("#id_template_from_1").check()
        page.fill("#id_title", "Hi")
        phone, field = page.locator("#beside .c-bubble").first, page.locator("#id_title")
    expect(phone).to_contain_text("Hi")
    above, below = phone.bounding_box(), field.bounding_box()
    assert above is not None and below is not None and above["y"] < below["y"]
    # And for who goes by Tab.
    assert phone.evaluate(
        "(one, other) => !!(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING)",
        field.element_handle(),
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1360, "height": 900})
    expect(page.locator(".c-columns > .c-side")).to_be_visible()
    assert phone.evaluate("one => !!one.closest('aside')")
    assert troubles == []
