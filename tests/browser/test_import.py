"""A file of people on its way through the pages, in a real browser: to a list of all of them."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.audiences.audience import Member
from notifications import imports
from notifications.admin.importing import upload
from notifications.people.contact import Contact
from notifications.people.importing.model import Import
from notifications.staff.team import Role
from tests.browser.accessibility import complaints
from tests.browser.sessions import share_session
from tests.given.builders import make_project
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db(transaction=True)
GOOD, BAD = 400, 3


@pytest.fixture(autouse=True)
def _in_a_shop() -> None:
    make_project(name="Shop", timezone="Asia/Seoul")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """With rows whose time zone is none."""
    lines = ["user id;first name;home;points", *(f"u{n};Ada;Asia/Seoul;{n}" for n in range(GOOD))]
    lines[5:5] = [f"bad{n};Bo;Nowhere;1" for n in range(BAD)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def work() -> Import:
    """As a worker does when it is rung."""
    one = Import.objects.latest("pk")
    while imports.work(one.pk, seconds=20):
        pass
    return Import.objects.get(pk=one.pk)


def choose(page: Page, path: Path) -> None:
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    expect(page.get_by_role("heading", name="What each column means")).to_be_visible()


def meet_a_narrow_proxy(page: Page, path: Path) -> None:
    narrow = {"status": 413, "content_type": "text/plain", "body": "Payload Too Large"}
    page.route("**/part/0/", lambda route: route.fulfill(**narrow))
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    expect(page.get_by_role("alert")).to_contain_text("does not take parts of this size")
    page.unroute("**/part/0/")


def lose_the_connection(page: Page, path: Path) -> None:
    """After two parts; then the page is opened anew."""
    page.route("**/part/2/", lambda route: route.abort())
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    expect(page.get_by_text("The connection is lost. Trying again …")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+ %$"))).to_be_visible()
    page.unroute("**/part/2/")
    page.reload()
    expect(page.get_by_role("heading", name="Upload not finished")).to_be_visible()


def cancel(page: Page, path: Path) -> None:
    page.route("**/part/*/", lambda route: route.abort())
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled. Nothing was imported.")).to_be_visible()
    expect(page.get_by_label("Drop a file here, or choose one")).to_be_focused()
    page.unroute("**/part/*/")


def choose_while_the_cancel_is_on_its_way(page: Page, path: Path) -> None:
    """The same file again: a new upload, and not the one which the cancel is about to end."""
    held: list[Route] = []

    def begin_after_the_cancel(route: Route) -> None:
        reply = route.fetch()
        while held:
            held.pop().continue_()
        route.fulfill(response=reply)

    page.route("**/cancel/", lambda route: held.append(route))
    page.route("**/part/*/", lambda route: route.abort())
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    expect(page.get_by_text("The connection is lost. Trying again …")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.route("**/begin/", begin_after_the_cancel)
    page.unroute("**/part/*/")
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    expect(page.get_by_text(path.name)).to_be_visible()
    while held:
        held.pop().continue_()
    expect(page.get_by_role("heading", name="What each column means")).to_be_visible()


def read_in_another_encoding(page: Page) -> None:
    """Without leaving the field, or losing what was set."""
    encoding = page.get_by_label("Encoding")
    expect(encoding.locator("[selected]")).to_have_text("Detected: UTF-8")
    encoding.focus()
    encoding.select_option("Korean (CP949, EUC-KR)")
    expect(encoding.locator("[selected]")).to_have_text("Korean (CP949, EUC-KR)")
    expect(encoding).to_be_focused()
    expect(page.get_by_label("home", exact=True)).to_have_value("timezone")


def check(page: Page) -> None:
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("heading", name="Reading the file")).to_be_visible()
    assert work().state == Import.State.CHECKED
    expect(page.get_by_text("Checked. Nothing was changed yet.")).to_be_visible()


def start(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Import .* people …")).click()
    dialog = page.locator("#modal-content").get_by_role("dialog")
    dialog.get_by_role("button", name="Import").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    assert work().state == Import.State.FINISHED
    expect(page.get_by_role("heading", name="What it did")).to_be_visible()


def count(page: Page, label: str) -> str:
    return page.locator(".i-counts .c-stat", has_text=label).locator("dd").first.inner_text()


def mended(page: Page, path: Path) -> Path:
    with page.expect_download() as started:
        page.get_by_role("link", name=re.compile("refused rows")).click()
    text = started.value.path().read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["refused_column"] for row in rows] == ["home"] * BAD
    path = path.with_name("mended.csv")
    path.write_text(text.replace("Nowhere", "Asia/Tokyo"))
    return path


def test_a_file_with_bad_rows_becomes_people_and_a_list(
    page: Page, live_server: LiveServer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "PART_BYTES", 2_000)  # so that there are several
    share_session(page, live_server, logged_in(Role.EDITOR))
    page.set_viewport_size({"width": 1360, "height": 900})
    page.goto(reverse("admin:notifications_contact_changelist"))
    page.get_by_role("link", name="Import a file").click()

    meet_a_narrow_proxy(page, file)
    lose_the_connection(page, file)
    assert Import.objects.get().parts.count() == 2
    choose(page, file)
    assert Import.objects.get().parts.count() == -(-file.stat().st_size // 2_000)
    expect(page.get_by_text("cells between semicolons")).to_be_visible()
    page.get_by_label("home", exact=True).select_option("Time zone")
    read_in_another_encoding(page)
    assert complaints(page) == []
    page.set_viewport_size({"width": 1360, "height": 900})
    check(page)
    assert (count(page, "Created"), count(page, "Rows refused")) == (str(GOOD), str(BAD))
    assert complaints(page) == []
    page.set_viewport_size({"width": 1360, "height": 900})
    start(page)
    assert count(page, "Created") == str(GOOD)

    corrected = mended(page, file)
    page.get_by_role("link", name="Import another file").click()
    cancel(page, corrected)
    choose_while_the_cancel_is_on_its_way(page, corrected)
    check(page)
    start(page)
    assert Contact.objects.filter(timezone="Asia/Tokyo").count() == BAD

    page.get_by_label("Name of the list").fill("Who was mended")
    page.get_by_role("button", name="Make the list").click()
    expect(page).to_have_url(re.compile("/campaigns/audience/"))
    assert Member.objects.count() == BAD
