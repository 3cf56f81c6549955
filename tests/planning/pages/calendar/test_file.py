"""The calendar as a file that other calendars read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Event

from campaigns import control
from campaigns.planning.pages.calendar import calendar as pages
from campaigns.planning.pages.calendar.ics import plain
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_project, make_scheduled_run
from tests.planning.pages.calendar.reading import events

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
AT = datetime(2031, 5, 14, 23, 30, tzinfo=UTC)


def test_each_run_stands_at_its_instant_and_leads_to_its_page(desk: Desk, project: Project) -> None:
    run = make_scheduled_run(project, name="Lanterns", at=AT)
    (event,) = events(desk, day="2031-05-01")
    assert event["DTSTART"] == "20310514T233000Z"
    assert event["SUMMARY"] == "Lanterns (Scheduled)" and event["STATUS"] == "CONFIRMED"
    assert event["URL"].endswith(f"/admin/campaigns/run/{run.pk}/change/")
    assert event["UID"] == f"campaign-{run.campaign_id}@testserver"


def test_a_campaign_keeps_its_entry_when_it_is_launched(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project, schedule_kind="at", at=AT)
    (draft,) = events(desk, day="2031-05-01")
    control.launch(campaign, by="user:ada", now=timezone.now())
    (launched,) = events(desk, day="2031-05-01")
    assert draft["UID"] == launched["UID"] and draft["STATUS"] != launched["STATUS"]


def test_one_of_a_series_keeps_its_entry_wherever_it_is_moved(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    daily = {"schedule_kind": "recurring", "repeat": "daily", "at": AT, "until": AT + 2 * DAY}
    campaign = make_campaign(project, timezone="UTC", **daily)
    control.launch(campaign, by="user:ada", now=timezone.now())
    before = {event["DTSTART"]: event["UID"] for event in events(desk, day="2031-05-01")}
    assert len(before) == len(set(before.values())) == 3
    control.move_one(campaign, AT + DAY, to=AT + DAY + HOUR, by="user:ada")
    control.move(campaign.runs.get(), AT + HOUR, by="user:ada")
    after = {event["UID"]: event["DTSTART"] for event in events(desk, day="2031-05-01")}
    assert after == {
        before["20310514T233000Z"]: "20310515T003000Z",
        before["20310515T233000Z"]: "20310516T003000Z",
        before["20310516T233000Z"]: "20310516T233000Z",
    }
    control.cancel(campaign.runs.get(), by="user:ada")  # the next one gets its run
    found = {event["UID"]: event["DTSTART"] for event in events(desk, day="2031-05-01")}
    assert found == after


def test_of_two_runs_of_one_time_the_newest_has_its_entry(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project, schedule_kind="at", at=AT)
    first = control.launch(campaign, by="user:ada", now=timezone.now())
    control.cancel(first, by="user:ada")
    control.launch(campaign, by="user:ada", now=timezone.now())
    found = {event["STATUS"]: event["UID"] for event in events(desk, day="2031-05-01")}
    assert found == {
        "CANCELLED": f"run-{first.pk}@testserver",
        "CONFIRMED": f"campaign-{campaign.pk}@testserver",
    }


def test_what_is_not_sure_is_tentative_and_what_is_elsewhere_is_not_there(
    desk: Desk, project: Project
) -> None:
    make_campaign(project, name="Draft", schedule_kind="at", at=AT)
    make_scheduled_run(make_project(), name="Theirs", at=AT)
    (event,) = events(desk, day="2031-05-01")
    assert (event["SUMMARY"], event["STATUS"]) == ("Draft (Not launched)", "TENTATIVE")
    assert events(desk, day="2033-05-01") == []


def test_a_name_cannot_write_lines_of_its_own(desk: Desk, project: Project) -> None:
    make_campaign(project, name="A; b, \\c", schedule_kind="at", at=AT)
    (event,) = events(desk, day="2031-05-01")
    assert event["SUMMARY"] == "A\\; b\\, \\\\c (Not launched)"


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "\v", "\r", "\r\n"])
def test_every_mark_that_begins_a_line_is_one(mark: str) -> None:
    assert plain(f"One{mark}two") == "One\ntwo"


@given(st.text(max_size=300))
def test_any_name_is_one_value_in_lines_that_are_not_too_long(name: str) -> None:
    text = plain(name.encode("utf-8", "ignore").decode()).replace("\\N", "")  # means a new line
    event = Event()
    event.add("summary", text)
    lines = event.to_ical().decode().split("\r\n")[1:-2]
    assert all(len(line.encode()) <= 75 and len(line.splitlines()) == 1 for line in lines)
    assert all(line.startswith(" ") for line in lines[1:])
    assert Event.from_ical(event.to_ical())["summary"] == text


def test_of_series_with_too_many_times_it_says_where_the_file_ends(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_IN_FILE", 5)
    timed = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 * * * *"}
    make_people(project, 1)
    campaign = make_campaign(project, at=AT.replace(minute=0), timezone="UTC", **timed)
    control.launch(campaign, by="user:bob", now=timezone.now())
    assert [one["DTSTART"][9:11] for one in events(desk, day="2031-05-01")] == [
        "23", "00", "01", "02", "03", "04",
    ]  # fmt: skip
    reply = desk.client.get("/admin/campaigns/campaign/calendar.ics", {"day": "2031-05-01"})
    whole = reply.content.decode().replace("\r\n ", "")
    assert "X-WR-CALDESC:What is expected of series from 15 May 2031\\, 05:00" in whole
