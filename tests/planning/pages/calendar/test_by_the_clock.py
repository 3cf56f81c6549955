"""What goes by each reader's clock stands on the day that these show, not where its run begins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people
from tests.planning.pages.calendar.reading import cells, events

pytestmark = pytest.mark.django_db
NINE = datetime(2031, 5, 14, tzinfo=UTC)  # 09:00 in Seoul
CALENDAR = "/admin/campaigns/campaign/calendar/"
TOLD = "by each reader's clock"


def by_the_clock(project: Project, **values: Any) -> Campaign:
    make_people(project, 1)
    asked = {"schedule_kind": "at", "at": NINE, "timezone": "Asia/Seoul", "local_time": True}
    return make_campaign(project, **{"name": "Lanterns", **asked, **values})


def days_of(desk: Desk, zone: str, **query: Any) -> dict[str, str]:
    shown = cells(desk, zone=zone, **{"day": "2031-05-14", **query})
    return {day: said.replace("&#x27;", "'") for day, said in shown.items() if "Lanterns" in said}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul", "America/Los_Angeles"])
def test_it_stands_there_in_whatever_zone_the_page_tells_the_others(
    desk: Desk, project: Project, zone: str
) -> None:
    campaign = by_the_clock(project)
    for state in ("Not launched", "Scheduled"):
        [(day, said)] = days_of(desk, zone).items()
        assert day == "2031-05-14" and "09:00" in said and TOLD in said and state in said
        if state == "Not launched":
            run = control.launch(campaign, by="user:bob", now=timezone.now())
    Run.objects.filter(pk=run.pk).update(state="preparing", started_at=run.scheduled_at)
    [(day, said)] = days_of(desk, zone).items()
    assert day == "2031-05-14" and "Preparing" in said, "not the evening before, when it began"


def test_each_of_a_series_stands_on_its_own_day(desk: Desk, project: Project) -> None:
    campaign = by_the_clock(project, schedule_kind="recurring", repeat="weekly")
    control.launch(campaign, by="user:bob", now=timezone.now())
    found = days_of(desk, "UTC", view="month")
    assert [*found] == ["2031-05-14", "2031-05-21", "2031-05-28"]
    assert all("09:00" in said and TOLD in said for said in found.values())
    week = days_of(desk, "UTC", view="week", day="2031-05-19")
    assert [*week] == ["2031-05-21"]


def test_the_first_of_a_page_stands_there_though_its_run_begins_before_the_page(
    desk: Desk, project: Project
) -> None:
    monday = datetime(2031, 5, 12, tzinfo=UTC)
    control.launch(by_the_clock(project, at=monday), by="user:bob", now=timezone.now())
    assert [*days_of(desk, "UTC", view="week")] == ["2031-05-12"]
    assert days_of(desk, "UTC", view="week", day="2031-05-11") == {}


def test_a_file_tells_each_calendar_its_own_time(desk: Desk, project: Project) -> None:
    campaign = by_the_clock(project, schedule_kind="recurring", repeat="weekly")
    (draft, *none) = events(desk, day="2031-05-01")
    assert (draft["DTSTART"], none) == ("20310514T090000", [])
    control.launch(campaign, by="user:bob", now=timezone.now())
    launched = events(desk, day="2031-05-01")[:2]
    assert [one["DTSTART"] for one in launched] == ["20310514T090000", "20310521T090000"]
    later = launched[1]["UID"]
    Run.objects.update(scheduled_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert len({one["UID"] for one in launched}) == 2
    assert later in {one["UID"] for one in events(desk, day="2031-05-01")}


def test_a_file_has_what_its_first_day_has_though_the_run_begins_before(
    desk: Desk, project: Project
) -> None:
    control.launch(by_the_clock(project), by="user:bob", now=timezone.now())
    for view, day in (("week", "2031-05-14"), ("month", "2031-05-14")):
        assert len(events(desk, view=view, day=day)) == 1
    Campaign.objects.update(at=datetime(2031, 5, 12, tzinfo=UTC))
    Run.objects.all().delete()
    control.launch(Campaign.objects.get(), by="user:bob", now=timezone.now())
    assert [one["DTSTART"] for one in events(desk, view="week", day="2031-05-12")] == [
        "20310512T090000"
    ]
    assert events(desk, view="week", day="2031-05-19") == []


def test_a_later_one_of_a_series_is_left_out_and_the_others_stay(
    desk: Desk, project: Project
) -> None:
    campaign = by_the_clock(project, schedule_kind="recurring", repeat="daily")
    control.launch(campaign, by="user:bob", now=timezone.now())
    later = NINE + timedelta(days=1)
    key = (campaign.pk, int(later.timestamp()))
    page = reverse("admin:campaigns_series_move", args=key)
    assert page in desk.client.get(CALENDAR, {"day": "2031-05-14"}).content.decode()
    dialog = desk.open("campaigns_series_move", *key)
    assert "Leave out this one" in dialog and "New local time" not in dialog
    assert "15 May 2031, 09:00, by each reader" in dialog
    desk.confirm("campaigns_series_move", *key, was=later.isoformat(), leave_out="True")
    campaign.refresh_from_db()
    assert campaign.days_off.split() == ["2031-05-15"]
    shown = [day for day, said in days_of(desk, "UTC").items() if "09:00" in said]
    assert shown[:3] == ["2031-05-14", "2031-05-16", "2031-05-17"]


def test_whoever_asks_to_move_one_all_the_same_is_told_why_not(
    desk: Desk, project: Project
) -> None:
    campaign = by_the_clock(project, schedule_kind="recurring", repeat="daily")
    control.launch(campaign, by="user:bob", now=timezone.now())
    later = NINE + timedelta(days=1)
    given = {"was": later.isoformat(), "at": "2031-05-15T10:00", "looked_at": "2031-05-15T10:00:00"}
    reply = desk.confirm(
        "campaigns_series_move", campaign.pk, int(later.timestamp()), **given, leave_out=""
    )
    campaign.refresh_from_db()
    assert (campaign.moved, campaign.days_off) == ({}, "")
    assert "HX-Redirect" not in reply
