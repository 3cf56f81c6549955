"""The calendar and the planner: read by everybody, and a run dragged to another day is answered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from notifications.staff.team import Role
from tests.browser.accessibility import complaints, looked_at
from tests.browser.sessions import share_session
from tests.given.builders import make_people
from tests.given.builders import make_scheduled_run as scheduled
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db(transaction=True)
CALENDAR = "/admin/campaigns/campaign/calendar/?view=week&zone=UTC&day="


def test_the_line_of_a_day_and_its_planner_can_be_read_by_everybody(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    cache.clear()
    make_people(project, 9)
    at = timezone.now() + timedelta(days=2)
    for name in ("Lanterns", "Neighbour"):
        scheduled(project, at, name=name)
    share_session(page, live_server, logged_in(Role.VIEWER))
    page.goto(f"{CALENDAR}{at:%Y-%m-%d}")
    expect(page.get_by_text("9 people would get both “Lanterns” and “Neighbour”.")).to_be_visible()
    line = page.get_by_role("link", name="Quota: 18 messages, most from")
    expect(line).to_be_visible()
    assert complaints(page) == []
    page.set_viewport_size({"width": 1360, "height": 900})
    line.click()
    expect(page.get_by_role("img", name="18 messages, most from")).to_be_visible()
    page.get_by_text("The numbers").click()
    assert complaints(page) == []
    asked = f"/admin/quota/?messages=5000&at={at:%Y-%m-%dT%H:%M}&campaign="
    assert looked_at(page, [asked, "/admin/quota/?messages=-1"]) == {}


def test_a_run_that_is_dragged_to_another_day_says_how_it_would_go_there(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    cache.clear()
    make_people(project, 9)
    # In the middle of a week, so that both days are on it.
    at = timezone.now() + timedelta(days=7)
    at = (at - timedelta(days=at.weekday() - 1)).replace(hour=12, minute=0)
    scheduled(project, at, name="Lanterns")
    scheduled(project, at + timedelta(days=1), name="Neighbour")
    share_session(page, live_server, logged_in(Role.SENDER))
    page.set_viewport_size({"width": 1360, "height": 900})
    page.goto(f"{CALENDAR}{at:%Y-%m-%d}")
    there = page.locator(f'td[data-day="{at + timedelta(days=1):%Y-%m-%d}"]')
    page.locator("li.cal-entry", has_text="Lanterns").drag_to(there)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Ends about")
    expect(dialog).to_contain_text("there is also “Neighbour”")
    assert complaints(page) == []
