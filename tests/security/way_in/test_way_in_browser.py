"""The pages of the way in, in Chromium: for everybody, at a desk, in the dark and on a phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from notifications.staff.team import Role
from tests.browser.accessibility import AXE, complaints
from tests.given.factor import with_factor
from tests.roles.people import somebody
from tests.security.at_the_door import PASSWORD, guess

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("CARILLON_SHOTS", "")  # a folder, to look at them


@pytest.fixture(params=["en", "ko"])
def page(request: pytest.FixtureRequest, browser: Browser, server: LiveServer) -> Iterator[Page]:
    language = {"Accept-Language": request.param}
    context = browser.new_context(
        base_url=server.url, reduced_motion="reduce", extra_http_headers=language
    )
    context.add_init_script(AXE)
    yield context.new_page()
    context.close()


@pytest.fixture
def server(live_server: LiveServer, transactional_db: None) -> LiveServer:
    return live_server


@pytest.fixture
def grace(transactional_db: None) -> User:
    return somebody(Role.OWNER, "grace")


def log_in(page: Page, password: str = PASSWORD) -> None:
    page.goto("/admin/login/")
    page.fill("#id_username", "grace")
    page.fill("#id_password", password)
    send(page, "#login-form")


def send(page: Page, form: str) -> None:
    with page.expect_navigation():
        page.click(f"{form} button[type=submit]")


def judge(page: Page, name: str) -> None:
    wrong = complaints(page)
    if SHOTS:
        language = page.get_attribute("html", "lang")
        for width in (1360, 390):
            page.set_viewport_size({"width": width, "height": 900})
            path = Path(SHOTS) / f"{name}-{language}-{width}.png"
            page.screenshot(path=path, full_page=True)
    assert wrong == [], name


def test_the_lock_can_be_read_by_everybody(page: Page, grace: User) -> None:
    guess(10, "grace", "127.0.0.1")
    log_in(page)
    assert page.locator("[role=alert]").inner_text()
    judge(page, "locked")


def test_the_second_factors_pages_can_be_used_by_everybody(page: Page, grace: User) -> None:
    codes = with_factor(grace)
    log_in(page)
    judge(page, "code")
    page.fill("#code", "000000")
    send(page, "form.c-page")
    judge(page, "code-wrong")
    page.fill("#code", codes[0])
    send(page, "form.c-page")
    page.goto("/admin/auth/user/me/second-factor/")
    judge(page, "second-factor")
    page.goto("/admin/password_change/")
    judge(page, "own-password")
    for name, value in {
        "old_password": PASSWORD,
        "new_password1": "x",
        "new_password2": "x",
    }.items():
        page.fill(f"#id_{name}", value)
    page.fill("#id_code", codes[1])
    send(page, "form[novalidate]")
    judge(page, "own-password-wrong")


def test_the_steps_of_setting_one_up_can_be_used_by_everybody(page: Page, grace: User) -> None:
    log_in(page)
    page.goto("/admin/auth/user/me/second-factor/")
    judge(page, "set-up-off")
    page.fill("#begin-password", "wrong")
    send(page, "form.c-page")
    judge(page, "set-up-wrong-password")
    page.fill("#begin-password", PASSWORD)
    send(page, "form.c-page")
    judge(page, "set-up-scan")
    page.fill("#code", "000000")
    send(page, "form.c-row")
    judge(page, "set-up-wrong-code")


def test_who_logs_out_can_read_it(page: Page, grace: User) -> None:
    log_in(page)
    page.wait_for_url("**/admin/")
    page.evaluate("document.querySelector('form[action*=logout]').submit()")
    page.wait_for_url("**/admin/logout/")
    judge(page, "logged-out")
