"""The calendar: what stands on which day, in whose zone, and what a move meets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.planning import calendar
from campaigns.planning.calendar import Entry
from campaigns.planning.pages.calendar import calendar as pages
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_run, make_scheduled_run
from tests.planning.pages.calendar.reading import cells

pytestmark = pytest.mark.django_db
SEOUL = ZoneInfo("Asia/Seoul")


# --- What stands where ----------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["month", "week"])
def test_a_scheduled_run_stands_on_its_day_in_the_zone_that_is_shown(
    desk: Desk, project: Project, view: str
) -> None:
    make_people(project, 1)
    late_evening = datetime(2031, 5, 14, 23, 30, tzinfo=UTC)
    make_scheduled_run(project, late_evening, name="Lanterns")
    here = cells(desk, view=view, day="2031-05-14", zone="UTC")
    assert "23:30 Lanterns Scheduled" in here["2031-05-14"]
    there = cells(desk, view=view, day="2031-05-14", zone="Asia/Seoul")
    assert "08:30 Lanterns Scheduled" in there["2031-05-15"]
    assert "Lanterns" not in there["2031-05-14"]


def test_the_chosen_zone_is_remembered_and_an_unknown_one_is_said(
    desk: Desk, project: Project
) -> None:
    url = "/admin/campaigns/campaign/calendar/"
    page = desk.client.get(url).content  # in the project's, as every other page
    assert b'value="Asia/Seoul"' in page and b"Every other page" not in page
    assert "is not a time zone we know" in desk.open("campaigns_calendar", zone="Mars/Olympus")
    desk.client.get(url, {"zone": "Europe/Berlin"})
    page = desk.client.get(url).content
    assert b'value="Europe/Berlin"' in page
    assert b"Every other page shows times in Asia/Seoul." in page


@pytest.mark.parametrize(
    "day", ["", "soon", "2031-02-30", "0001-01-01", "9999-12-31", "2100-01-01"]
)
def test_an_address_with_a_day_that_cannot_be_shows_today(
    desk: Desk, project: Project, day: str
) -> None:
    assert "today" in desk.open("campaigns_calendar", day=day)


@pytest.mark.parametrize(
    ("day", "view", "title"),
    [
        ("2000-01-01", "month", "January 2000"),
        ("2000-01-01", "week", "27 Dec 1999 – 2 Jan 2000"),
        ("2099-12-31", "month", "December 2099"),
        ("2099-12-31", "week", "28 Dec 2099 – 3 Jan 2100"),
    ],
)
def test_the_edges_of_the_calendar_open(
    desk: Desk, project: Project, day: str, view: str, title: str
) -> None:
    assert title in desk.open("campaigns_calendar", day=day, view=view)


def test_a_run_that_began_stands_where_it_began(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="Lanterns")
    Run.objects.update(
        scheduled_at=datetime(2031, 5, 1, 9, tzinfo=UTC),
        started_at=datetime(2031, 5, 3, 9, tzinfo=UTC),
    )
    shown = cells(desk, day="2031-05-01", zone="UTC")
    assert "Lanterns Sending" in shown["2031-05-03"] and "Lanterns" not in shown["2031-05-01"]
    assert f"/admin/campaigns/run/{run.pk}/change/" in str(
        desk.client.get("/admin/campaigns/campaign/calendar/", {"day": "2031-05-01"}).content
    )


def test_a_series_shows_its_next_run_and_those_that_are_expected(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(
        project,
        name="Digest",
        schedule_kind="recurring",
        repeat="weekly",
        at=datetime(2031, 5, 7, 0, tzinfo=UTC),
        until=datetime(2031, 5, 22, tzinfo=UTC),
        timezone="Asia/Seoul",
    )
    control.launch(campaign, by="user:bob", now=timezone.now())
    shown = cells(desk, day="2031-05-01", zone="Asia/Seoul")
    assert "09:00 Digest Scheduled" in shown["2031-05-07"]
    assert "09:00 Digest Expected" in shown["2031-05-14"]
    assert "09:00 Digest Expected" in shown["2031-05-21"]
    assert "Digest" not in shown["2031-05-28"]


def test_a_campaign_with_a_time_that_nobody_launched_says_so(desk: Desk, project: Project) -> None:
    make_campaign(project, name="Idea", schedule_kind="at", at=datetime(2031, 5, 7, tzinfo=UTC))
    assert "Idea Not launched" in cells(desk, day="2031-05-01", zone="UTC")["2031-05-07"]


def test_a_full_day_leads_to_its_week(desk: Desk, project: Project) -> None:
    for hour in range(6):
        at = datetime(2031, 5, 7, hour, tzinfo=UTC)
        make_campaign(project, name=f"Idea {hour}", schedule_kind="at", at=at)
    assert "2 more" in cells(desk, day="2031-05-01", zone="UTC")["2031-05-07"]
    week = cells(desk, day="2031-05-07", view="week", zone="UTC")["2031-05-07"]
    assert "Idea 5" in week and "more" not in week


def test_an_empty_month_says_what_would_stand_there(desk: Desk, project: Project) -> None:
    assert "Nothing was sent on these days" in desk.open("campaigns_calendar", day="2031-05-01")


def test_names_are_text_wherever_they_stand(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    nasty = '"><img src=x onerror=alert(1)>'
    run = make_scheduled_run(project, datetime(2031, 5, 7, tzinfo=UTC), name=nasty)
    for url in ("calendar/?day=2031-05-01", f"calendar/{run.pk}/"):
        assert b"<img src=x" not in desk.client.get(f"/admin/campaigns/campaign/{url}").content


# --- Days off -------------------------------------------------------------------------------------


def test_a_day_off_names_what_is_left_out_and_the_year_lists_all(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(
        project, name="Digest", schedule_kind="recurring", repeat="daily",
        at=datetime(2031, 5, 1, 9, tzinfo=UTC), timezone="UTC",
        days_off="2031-05-05\n2031-12-25\n2032-01-01",
    )  # fmt: skip
    control.launch(campaign, by="user:bob", now=timezone.now())
    shown = cells(desk, day="2031-05-01", zone="UTC")
    assert "Day off: without “Digest”" in shown["2031-05-05"]
    assert "09:00" not in shown["2031-05-05"] and "Day off" not in shown["2031-05-06"]
    text = desk.open("campaigns_calendar", day="2031-05-01")
    assert "Days off in 2031 Digest 5 May, 25 Dec" in text and "1 Jan" not in text
    assert "Days off" not in desk.open("campaigns_calendar", day="2033-05-01")


def test_many_days_off_at_once_are_counted_and_those_filed_away_or_ended_are_none(
    desk: Desk, project: Project
) -> None:
    def digest(name: str, **values: Any) -> None:
        make_campaign(
            project, name=name, schedule_kind="recurring", repeat="daily", days_off="2031-05-05",
            at=datetime(2031, 5, 1, 9, tzinfo=UTC), timezone="UTC", **values,
        )  # fmt: skip

    for name in "ABCD":
        digest(name)
    digest("Filed", archived_at=timezone.now())
    digest("Ended", until=datetime(2031, 5, 4, 23, tzinfo=UTC))
    shown = cells(desk, day="2031-05-01", zone="UTC")
    assert "Day off: without “A”, “B”, 2 more" in shown["2031-05-05"]
    assert "Filed" not in shown["2031-05-05"] and "Ended" not in shown["2031-05-05"]


def test_the_zone_is_named_once_and_not_at_each_entry(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    for hour in range(4):
        make_scheduled_run(project, datetime(2031, 5, 7, hour, tzinfo=UTC), name=f"Sale {hour}")
    day = cells(desk, day="2031-05-01", zone="Asia/Seoul")["2031-05-07"]
    assert "Sale 3" in day and "Seoul" not in day


def test_of_series_with_too_many_times_together_the_earliest_stand_there_and_the_rest_is_said(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendar, "MAX_SHOWN", 10)
    make_people(project, 1)
    for name in ("Digest", "Tip"):
        hourly(project, name, datetime(2031, 5, 7, tzinfo=UTC))
    shown = cells(desk, day="2031-05-01", zone="UTC")
    day = shown["2031-05-07"]
    assert day.index("00:00 Tip Scheduled") < day.index("01:00 Digest every hour, 5 times Expected")
    assert "01:00 Tip every hour, 5 times Expected" in day and "more" not in day
    assert "Digest" not in shown["2031-05-08"]
    text = desk.open("campaigns_calendar", day="2031-05-01", zone="UTC")
    assert "what is expected from 7 May 2031, 06:00 on is left out" in text
    later = desk.open("campaigns_calendar", day="2031-06-01", zone="UTC")
    assert "from 26 May 2031, 05:00 on" in later, "the earliest of those days"


def test_a_page_of_very_many_series_reckons_no_more_than_it_can_show(
    desk: Desk, project: Project
) -> None:
    for number in range(8):
        hourly(project, f"Digest {number}", datetime(2031, 5, 7, tzinfo=UTC))
    text = desk.open("campaigns_calendar", day="2031-06-01", zone="UTC")
    assert "what is expected from 21 Jun 2031" in text and "on is left out" in text


def test_of_too_many_runs_the_earliest_stand_there_and_the_rest_is_said(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 1)
    for day in range(3):
        make_scheduled_run(project, datetime(2031, 5, 7 + day, 9, tzinfo=UTC), name=f"Sale {day}")
    monkeypatch.setattr(calendar, "MAX_RUNS", 3)
    assert "too many runs" not in desk.open("campaigns_calendar", day="2031-05-01", zone="UTC")
    monkeypatch.setattr(calendar, "MAX_RUNS", 2)
    shown = desk.open("campaigns_calendar", day="2031-05-01", zone="UTC")
    assert "Sale 1" in shown and "Sale 2" not in shown
    assert "too many runs to show all: those from 9 May 2031, 09:00 on are left out" in shown
    # Those beside the week take no place of it.
    before = desk.open("campaigns_calendar", day="2031-05-01", zone="UTC", view="week")
    assert "too many runs" not in before
    file = desk.client.get("/admin/campaigns/campaign/calendar.ics?day=2031-05-01&zone=UTC")
    said = file.content.decode().replace("\r\n ", "")
    assert "X-WR-CALDESC:Runs from 9 May 2031\\, 09:00 UTC on are left out" in said


def test_a_series_that_goes_each_hour_is_one_line_of_a_day(desk: Desk, project: Project) -> None:
    """A week has room for each time, to be moved; a month has not."""
    make_people(project, 1)
    hourly(project, "Digest", datetime(2031, 5, 7, tzinfo=UTC))
    day = cells(desk, day="2031-05-01", zone="UTC")["2031-05-08"]
    assert day.count("Digest") == 1 and "00:00 Digest every hour, 24 times Expected" in day
    week = cells(desk, day="2031-05-08", zone="UTC", view="week")["2031-05-08"]
    assert "00:00 Digest every hour, 24 times Expected" in week
    assert "Each time" in week and week.count("Digest Expected") == 24


def test_what_goes_a_few_times_a_day_stands_there_each_time(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    at = datetime(2031, 5, 7, tzinfo=UTC)
    hourly(project, "Digest", at, cron="0 9,13,17 * * *")
    hourly(project, "Often", at, cron="0 9-21/2 * * *")
    day = cells(desk, day="2031-05-01", zone="UTC")["2031-05-08"]
    assert "09:00 Digest Expected" in day and "13:00 Digest Expected" in day
    assert "09:00 Often 7 times Expected" in day


def test_a_page_draws_no_more_of_a_day_than_it_shows(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 1)
    for number in range(6):
        hourly(project, f"Digest {number}", datetime(2031, 5, 7, tzinfo=UTC))
    drawn: list[Entry] = []
    draw = pages._shown

    def counted(entry: Entry, span: Any, *, may_move: bool) -> Any:
        drawn.append(entry)
        return draw(entry, span, may_move=may_move)

    monkeypatch.setattr(pages, "_shown", counted)
    assert "48 more" in cells(desk, day="2031-05-01", zone="UTC")["2031-05-08"]
    assert len(drawn) <= 4 * 35
    drawn.clear()
    week = cells(desk, day="2031-05-08", zone="UTC", view="week")["2031-05-08"]
    assert "Each time" not in week and len(drawn) <= 60 * 7


def hourly(project: Project, name: str, at: datetime, cron: str = "0 * * * *") -> None:
    timed = {"schedule_kind": "recurring", "repeat": "cron", "cron": cron}
    campaign = make_campaign(project, name=name, at=at, timezone="UTC", **timed)
    control.launch(campaign, by="user:bob", now=timezone.now())
