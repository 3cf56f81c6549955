"""A first part in a browser: what it hides, what it counts down, and whether all can use it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.canary.first_part import FirstPart
from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.browser.accessibility import AXE, complaints
from tests.browser.sessions import share_session
from tests.given.builders import make_campaign, make_people, make_project, make_run
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db(transaction=True)
FIRST: dict[str, Any] = {"first_percent": 10, "first_least": 10}


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
    context.add_init_script(AXE)
    page = context.new_page()
    share_session(page, live_server, logged_in(Role.OWNER))
    yield page
    page.goto("about:blank")  # it asks no more: an answer must not come in the next test
    context.close()


@pytest.fixture
def shop() -> Project:
    """The only one: no page asks for it."""
    project = make_project(name="Shop", timezone="Asia/Seoul")
    make_people(project, 200)
    return project


def look(run: Run, *seconds: int) -> None:
    for after in seconds:
        engine.advance(run.pk, now=timezone.now() + timedelta(seconds=after))


def test_its_figures_are_for_everybody_and_the_page_goes_on_by_itself(
    page: Page, shop: Project
) -> None:
    run = make_run(shop, **FIRST)
    page.goto(f"/admin/campaigns/run/{run.pk}/change/")
    part = page.locator(".r-first")
    expect(part).to_contain_text("20 go first")
    assert complaints(page) == []

    run.chunks.filter(follows=False).update(state=Chunk.State.CLOSED, accepted=18, rejected=2)
    look(run, 0, 1)
    expect(part).to_contain_text("Judged in 14 min")
    expect(part).to_contain_text("not kept: at most 5 %")
    assert complaints(page) == []

    page.locator("#first-go_on").click()
    page.get_by_role("dialog").get_by_role("button", name="Go on now").click()
    expect(part).to_contain_text("was let go on")
    assert FirstPart.objects.get().decision == "person"


# At once: the page draws its buttons anew each second.
CLICK = """() => {
    const button = document.getElementById("first-go_on");
    button.focus();
    button.click();
    return button;
}"""


def test_a_button_that_was_drawn_anew_since_the_click_opens_its_dialog(
    page: Page, shop: Project
) -> None:
    run = make_run(shop, **FIRST)
    page.goto(f"/admin/campaigns/run/{run.pk}/change/")
    run.chunks.filter(follows=False).update(state=Chunk.State.CLOSED, accepted=18, rejected=2)
    look(run, 0, 1)
    expect(page.locator("#first-go_on")).to_be_visible()
    held: list[Route] = []
    page.route("**/go_on/", lambda route: held.append(route))
    with page.expect_request("**/go_on/"):
        button = page.evaluate_handle(CLICK)

    run.chunks.filter(follows=False).update(accepted=17, rejected=3)
    page.wait_for_function("(button) => !button.isConnected", arg=button)
    held.pop().continue_()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#first-go_on")).to_be_focused()


def test_the_bounds_are_asked_for_once_there_is_a_share(page: Page, shop: Project) -> None:
    campaign = make_campaign(shop)
    page.goto(f"/admin/campaigns/campaign/{campaign.pk}/change/?step=when")
    wait = page.get_by_label("Then wait")
    expect(wait).to_be_hidden()
    page.get_by_label("First part, in percent").fill("10")
    expect(wait).to_be_visible()
    page.get_by_label("First part, at least").fill("10")
    expect(page.locator("#beside")).to_contain_text("First about 20 of 200")
    assert complaints(page) == []
