"""A file of holidays is read while the step stands open: nothing is saved without its days."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from pytest_django.live_server_helper import LiveServer

from notifications.people.project import Project
from tests.browser.sessions import log_in
from tests.given.builders import make_campaign, make_people
from tests.planning.pages.calendar_file import FILE

pytestmark = pytest.mark.django_db(transaction=True)


def test_while_a_file_is_read_nothing_is_saved_and_then_the_next_times_are_without_its_days(
    browser: Browser, live_server: LiveServer, project: Project, tmp_path: Path
) -> None:
    make_people(project, 3)
    at = datetime(2031, 9, 30, 9, tzinfo=UTC)
    campaign = make_campaign(
        project, schedule_kind="recurring", repeat="daily", at=at, timezone="UTC"
    )
    file = tmp_path / "holidays.ics"
    file.write_text(FILE)
    troubles, held = list[str](), list[Route]()
    page = log_in(browser, live_server, troubles, width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=when")
    offered = "one => getComputedStyle(one).display != 'none'"
    days = [page.locator(f"[name=on_days] [value={one}]") for one in ("workdays", "last_day")]
    assert [one.evaluate(offered) for one in days] == [True, False], "those of the rhythm"
    times, save = page.locator("#beside"), page.get_by_role("button", name="Save draft")
    expect(times).to_contain_text("2 Oct 2031")
    page.route("**/when/holidays/", lambda route: held.append(route))

    page.set_input_files("#id_holidays", file)
    expect(save).to_be_disabled()
    held[0].continue_()

    expect(save).to_be_enabled()
    expect(times).not_to_contain_text("2 Oct 2031")
    page.unroute("**/when/holidays/")
    page.get_by_role("button", name="Add public holidays …").click()
    country = page.get_by_label("Country")
    country.select_option("Germany")
    expect(country.locator("[selected]")).to_have_text("Germany")
    page.get_by_label("Region").select_option("Bayern")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#holidays")).to_contain_text("days were added")
    expect(page.get_by_label("Region")).to_have_value("BY")

    save.click()
    page.wait_for_url("**saved=1")
    campaign.refresh_from_db()
    assert campaign.days_off.split()[-2:] == ["2031-10-01", "2031-10-02"]
    assert {"Chuseok", "Epiphany"} <= set(campaign.holiday_names.values())
    assert troubles == []
