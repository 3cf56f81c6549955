"""One of a series is moved on the calendar before it has a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences import estimating
from campaigns.forecast.other_runs import run_sizes
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_people, make_scheduled_run

pytestmark = pytest.mark.django_db
FIRST = datetime(2031, 5, 5, 9, tzinfo=UTC)
WEDNESDAY = FIRST + timedelta(days=2)


@pytest.fixture
def daily(project: Project) -> Campaign:
    make_people(project, 1)
    asked = {"schedule_kind": "recurring", "repeat": "daily", "at": FIRST, "timezone": "UTC"}
    campaign = make_campaign(project, name="Hello", **asked)
    control.launch(campaign, by="user:alice", now=timezone.now())
    return campaign


MOVE = "campaigns_series_move"


def key(campaign: Campaign, at: datetime) -> tuple[int, int]:
    return campaign.pk, int(at.timestamp())


def confirm(desk: Desk, campaign: Campaign, due: datetime, at: str, *, looked: bool = True) -> Any:
    values = {"zone": "UTC", "view": "month", "was": due.isoformat()}
    values |= {"looked_at": f"{at}:00"} if looked else {}
    return desk.confirm(MOVE, *key(campaign, due), **values, at=at)


def test_an_expected_one_is_moved_from_the_calendar(desk: Desk, daily: Campaign) -> None:
    url = reverse(f"admin:{MOVE}", args=key(daily, WEDNESDAY))
    page = desk.client.get(reverse("admin:campaigns_calendar") + "?day=2031-05-07&zone=UTC")
    assert url in page.content.decode()
    asked = desk.open(MOVE, *key(daily, WEDNESDAY), zone="UTC")
    assert "Move only this one of “Hello”?" in asked
    assert "The others stay at their times." in asked
    refused = confirm(desk, daily, WEDNESDAY, "2031-05-08T09:00")
    assert "The next one is due on 8 May 2031, 09:00" in text_of(refused)
    reply = confirm(desk, daily, WEDNESDAY, "2031-05-07T12:00")
    assert reply["HX-Redirect"].startswith(reverse("admin:campaigns_calendar"))
    daily.refresh_from_db()
    noon = WEDNESDAY + timedelta(hours=3)
    assert daily.coming(FIRST, 2)[1] == noon
    page = desk.client.get(reverse("admin:campaigns_calendar") + "?day=2031-05-07&zone=UTC")
    assert reverse(f"admin:{MOVE}", args=key(daily, noon)) in page.content.decode()


def test_one_that_was_moved_is_marked_and_put_back(desk: Desk, daily: Campaign) -> None:
    month = {"day": "2031-05-07", "zone": "UTC"}
    assert "moved from" not in desk.open("campaigns_calendar", **month)
    confirm(desk, daily, WEDNESDAY, "2031-05-07T12:00")
    assert desk.open("campaigns_calendar", **month).count("moved from 09:00") == 1
    in_seoul = desk.open("campaigns_calendar", day="2031-05-07", zone="Asia/Seoul")
    assert in_seoul.count("moved from 18:00") == 1
    noon = WEDNESDAY + timedelta(hours=3)
    page = desk.client.get(
        reverse(f"admin:{MOVE}", args=key(daily, noon)),
        {"zone": "UTC"},
        headers={"HX-Request": "true"},
    )
    assert "Moved from 7 May 2031, 09:00 Choose that time again" in text_of(page)
    url = unescape(page.content.decode().partition('role="button" href="')[2].partition('"')[0])
    again = desk.client.get(url, headers={"HX-Request": "true"})
    assert 'value="2031-05-07T09:00"' in again.content.decode()
    confirm(desk, daily, noon, "2031-05-07T09:00")
    daily.refresh_from_db()
    assert daily.moved == {}
    assert "moved from" not in desk.open("campaigns_calendar", **month)


def test_one_that_was_moved_is_marked_where_the_next_ones_are_listed(
    desk: Desk, daily: Campaign
) -> None:
    tuesday = FIRST + timedelta(days=1)
    confirm(desk, daily, tuesday, "2031-05-06T12:00")
    said = "Tue 6 May 2031, 12:00 UTC moved from 6 May 2031, 09:00 UTC"
    review = desk.open("campaign_review", daily.pk)
    assert said in review and review.count("moved from") == 1
    typed = {"schedule_kind": "recurring", "repeat": "daily", "every": "1"}
    typed |= {"at": "2031-05-05T09:00", "timezone": "UTC", "campaign": str(daily.pk)}
    panel = text_of(desk.post("campaign_when", **typed))
    assert said in panel and panel.count("moved from") == 1


def test_what_was_due_in_the_second_of_a_double_hour_is_put_back_there(
    desk: Desk, project: Project
) -> None:
    """02:30 comes twice that night in Berlin, where the calendar is read."""
    make_people(project, 1)
    asked = {"schedule_kind": "recurring", "repeat": "daily", "timezone": "Asia/Seoul"}
    first = datetime(2031, 10, 24, 1, 30, tzinfo=UTC)
    campaign = make_campaign(project, name="Hello", at=first, **asked)
    control.launch(campaign, by="user:alice", now=timezone.now())
    own = first + timedelta(days=2)
    later = own + timedelta(hours=5)
    control.move_one(campaign, own, to=later, was=own, by="user:alice")
    values = {"zone": "Europe/Berlin", "was": later.isoformat(), "at": "2031-10-26T02:30"}
    desk.confirm(MOVE, *key(campaign, later), **values, looked_at="2031-10-26T02:30:00")
    campaign.refresh_from_db()
    assert campaign.moved == {}


def test_a_time_that_has_passed_is_not_offered_again(desk: Desk, daily: Campaign) -> None:
    run = daily.runs.get()
    ago, soon = timezone.now() - timedelta(hours=1), timezone.now() + timedelta(hours=1)
    Run.objects.update(occurrence=ago.isoformat(), scheduled_at=soon)
    asked = desk.open("campaigns_run_move", run.pk, zone="UTC")
    assert "Moved from" in asked and "Choose that time again" not in asked


def test_of_many_times_a_day_the_line_says_how_many_were_moved(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    asked = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 8-20 * * *"}
    campaign = make_campaign(project, name="Hourly", at=FIRST, timezone="UTC", **asked)
    control.launch(campaign, by="user:alice", now=timezone.now())
    noon = WEDNESDAY + timedelta(hours=3)
    control.move_one(campaign, noon, to=noon + timedelta(minutes=25), was=noon, by="user:alice")
    month = desk.open("campaigns_calendar", day="2031-05-07", zone="UTC")
    assert month.count("1 moved") == 1 and "moved from" not in month
    week = desk.open("campaigns_calendar", day="2031-05-07", zone="UTC", view="week")
    assert "1 moved" in week and week.count("moved from 12:00") == 1


def test_a_run_of_a_series_that_was_moved_is_marked_and_put_back(
    desk: Desk, daily: Campaign
) -> None:
    run = daily.runs.get()
    control.move(run, at=FIRST - timedelta(hours=12), was=FIRST, by="user:alice")
    said = desk.open("campaigns_calendar", day="2031-05-05", zone="UTC")
    assert said.count("moved from 5 May 2031, 09:00") == 1
    asked = desk.open("campaigns_run_move", run.pk, zone="Asia/Seoul")
    assert "Moved from 5 May 2031, 18:00 Choose that time again" in asked
    assert "Move only this one of “Hello”?" in asked and "The others stay at" in asked
    run.refresh_from_db()
    control.move(run, at=FIRST, was=run.scheduled_at, by="user:alice")
    assert "Moved from" not in desk.open("campaigns_run_move", run.pk, zone="UTC")


def test_it_shows_what_it_meets_there_before_it_is_moved(
    desk: Desk, project: Project, daily: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten a second: each of the two would have five. What it leaves takes no part."""
    monkeypatch.setattr(estimating, "SAMPLE_SECONDS", 10.0)  # nothing is estimated
    monkeypatch.setattr(run_sizes, "COUNTING_SECONDS", 60.0)
    cache.clear()
    Project.objects.update(quota_per_minute=750)
    make_people(project, 599)
    noon = WEDNESDAY + timedelta(hours=3)
    make_scheduled_run(project, noon, name="Neighbour")
    asked = {"zone": "UTC", "at": "2031-05-07T12:00"}
    there = desk.open(MOVE, *key(daily, WEDNESDAY), **asked)
    assert "New time 7 May 2031, 12:00 Sent to about 600 devices, as of now" in there
    assert "Ends about 7 May 2031, 12:01" in there or "Ends about 7 May 2031, 12:02" in there
    assert "there is also “Neighbour”" in there and "“Neighbour” would end" in there
    assert "“Hello” would end" not in there
    first = confirm(desk, daily, WEDNESDAY, "2031-05-07T12:00", looked=False)
    assert "Check what else is sent at that time, then move it." in text_of(first)
    daily.refresh_from_db()
    assert daily.moved == {}
    confirm(desk, daily, WEDNESDAY, "2031-05-07T12:00")
    daily.refresh_from_db()
    assert daily.coming(FIRST, 2)[1] == noon


def test_one_that_a_program_moved_within_a_second_is_moved_again(
    desk: Desk, project: Project, daily: Campaign
) -> None:
    asked = {"at": "2031-05-07T09:00", "to": "2031-05-07T12:00:00.5", "timezone": "UTC"}
    moved = Caller(project).post(f"campaigns/{daily.pk}/move", asked)
    assert moved.status_code == 200, moved.content
    noon = WEDNESDAY + timedelta(hours=3)
    confirm(desk, daily, noon, "2031-05-07T13:00")
    daily.refresh_from_db()
    assert daily.coming(FIRST, 2)[1] == noon + timedelta(hours=1)


def test_of_two_who_move_one_at_once_the_second_is_told(desk: Desk, daily: Campaign) -> None:
    asked = desk.open(MOVE, *key(daily, WEDNESDAY), zone="UTC")
    assert "Current time 7 May 2031, 09:00" in asked
    confirm(desk, daily, WEDNESDAY, "2031-05-07T12:00")
    reply = confirm(desk, daily, WEDNESDAY, "2031-05-07T15:00")  # whose dialog shows 09:00
    assert "It was moved or started in the meantime" in text_of(reply)
    daily.refresh_from_db()
    assert daily.coming(FIRST, 2)[1] == WEDNESDAY + timedelta(hours=3)


def test_a_dialog_opened_by_its_first_time_shows_where_it_stands_now(
    desk: Desk, daily: Campaign
) -> None:
    confirm(desk, daily, WEDNESDAY, "2031-05-07T12:00")
    asked = desk.open(MOVE, *key(daily, WEDNESDAY), zone="UTC")
    assert "Current time 7 May 2031, 12:00" in asked
    assert "Current time 7 May 2031, 09:00" not in asked


def test_one_that_is_not_among_them_is_not_moved(desk: Desk, daily: Campaign) -> None:
    said = "None of the times to come is at this time."
    assert said in desk.open(MOVE, *key(daily, WEDNESDAY + timedelta(minutes=1)))
    reply = confirm(desk, daily, WEDNESDAY + timedelta(minutes=1), "2031-05-07T12:00")
    assert said in text_of(reply)
    for far in (4_133_980_800, 253_402_300_799, 10**20):  # from the year 2100 on
        url = reverse(f"admin:{MOVE}", args=(daily.pk, far))
        shown = desk.client.get(url, {"zone": "Asia/Seoul"}, headers={"HX-Request": "true"})
        assert shown.status_code == 404
    daily.refresh_from_db()
    assert daily.moved == {}


def test_the_step_when_of_a_series_says_what_an_edit_means(desk: Desk, daily: Campaign) -> None:
    page = desk.open("campaigns_campaign_change", daily.pk, step="when")
    assert "Only one of them : move it on the calendar, or cancel the run that waits" in page
    assert "stop it, change them, and launch it again" in page


def leave_out(desk: Desk, campaign: Campaign, due: datetime) -> Any:
    values = {"zone": "UTC", "view": "month", "was": due.isoformat(), "leave_out": "on", "at": ""}
    return desk.confirm(MOVE, *key(campaign, due), **values)


def test_a_later_one_is_left_out_and_the_others_stay(desk: Desk, daily: Campaign) -> None:
    assert "Leave it out instead" in desk.open(MOVE, *key(daily, WEDNESDAY), zone="UTC")
    reply = leave_out(desk, daily, WEDNESDAY)
    assert "day=2031-05-07" in reply["HX-Redirect"]
    daily.refresh_from_db()
    assert daily.days_off == "2031-05-07"
    day = timedelta(days=1)
    assert daily.coming(FIRST, 3) == [FIRST + day, FIRST + 3 * day, FIRST + 4 * day]
    entry = AuditEntry.objects.filter(action="changed").get()
    assert entry.changes == {"days_off": ["", "2031-05-07"]}
    gone = leave_out(desk, daily, WEDNESDAY)
    assert "None of the times to come is at this time." in text_of(gone)


def test_one_that_was_moved_is_left_out_by_its_own_day(desk: Desk, daily: Campaign) -> None:
    confirm(desk, daily, WEDNESDAY, "2031-05-07T23:00")
    leave_out(desk, daily, WEDNESDAY + timedelta(hours=14))
    daily.refresh_from_db()
    assert (daily.days_off, daily.moved) == ("2031-05-07", {})


def test_one_of_several_on_its_day_is_not_left_out_alone(desk: Desk, daily: Campaign) -> None:
    values = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 9,13 * * *"}
    campaign = make_campaign(daily.project, **values, at=FIRST, timezone="UTC")
    control.launch(campaign, by="user:alice", now=timezone.now())
    reply = leave_out(desk, campaign, WEDNESDAY)
    assert "There are several on this day. Move it, or make the day" in text_of(reply)
    campaign.refresh_from_db()
    assert campaign.days_off == ""
