"""Beside each day of the calendar: its line of the quota, and how many people would get two."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from campaigns import control
from campaigns.audiences import estimating
from campaigns.forecast.other_runs import common_people, planned_runs, run_sizes
from campaigns.planning import calendar
from campaigns.planning.pages.calendar import day_panel
from notifications.people.project import Project
from notifications.postgres.budget import Busy, TooSlow
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_campaign, make_people, make_project
from tests.given.builders import make_scheduled_run as scheduled

pytestmark = pytest.mark.django_db
NINE = datetime(2031, 5, 14, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
KOREANS = {"field": "locale", "op": "eq", "value": "ko"}


@pytest.fixture(autouse=True)
def at_ten_a_second(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(estimating, "SAMPLE_SECONDS", 10.0)  # nothing is estimated
    monkeypatch.setattr(run_sizes, "COUNTING_SECONDS", 60.0)
    Project.objects.update(quota_per_minute=750, timezone="UTC")
    project.refresh_from_db()


def days(desk: Desk, **query: Any) -> dict[str, str]:
    """What is said beside each day."""
    asked = {"day": "2031-05-14", "zone": "UTC", "view": "week", **query}
    html = desk.client.get("/admin/campaigns/campaign/calendar/days/", asked).content.decode()
    found = re.findall(r'id="day-([-\d]+)" hx-swap-oob="true">(.*?)</div>', html, re.DOTALL)
    said = {}
    for day, cell in found:
        spoken = " ".join(re.findall(r'aria-label="([^"]*)"', cell))
        said[day] = unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", cell)) + spoken).strip()
    return said


def test_a_day_says_what_its_hours_use_of_the_quota(desk: Desk, project: Project) -> None:
    make_people(project, 720)
    scheduled(project, NINE)
    assert days(desk) == {"2031-05-14": "Quota: 720 messages, most from 09:00 on: 2 % of the quota"}
    there = days(desk, zone="Asia/Kolkata")
    assert there == {"2031-05-14": "Quota: 720 messages, most from 14:00 on: 2 % of the quota"}


def test_each_time_of_a_series_is_looked_at_once_and_none_that_is_over_by_then(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 3)
    timed = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 * * * *"}
    at = NINE - timedelta(days=20)
    series = make_campaign(project, **timed, at=at, timezone="UTC", name="Digest")
    control.launch(series, by="user:bob", now=timezone.now())
    looked_at: list[Any] = []
    entry = calendar.Entry

    def counted(*values: Any, **more: Any) -> Any:
        looked_at.append(values)
        return entry(*values, **more)

    monkeypatch.setattr(calendar, "Entry", counted)
    assert days(desk)["2031-05-14"].startswith("3 people would get both “Digest” and “Digest”.")
    assert len(looked_at) == 7 * 24


def test_lines_that_leave_runs_out_say_how_many(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_runs, "MOST", 1)
    make_people(project, 1)
    for _ in range(3):
        scheduled(project, NINE)
    asked = {"day": "2031-05-14", "zone": "UTC", "view": "week"}
    page = desk.open("campaigns_calendar_days", **asked)
    assert "2 more are planned and were not reckoned." in page


def test_a_calendar_that_nobody_has_time_to_reckon_says_so(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise Busy

    monkeypatch.setattr(day_panel, "days", busy)
    page = desk.open("campaigns_calendar_days", day="2031-05-14", zone="UTC", view="week")
    assert "Try again in a moment." in page


def test_the_line_leads_to_the_same_numbers_of_the_planner(desk: Desk, project: Project) -> None:
    make_people(project, 720)
    scheduled(project, NINE)
    url = "/admin/campaigns/campaign/calendar/days/"
    page = desk.client.get(url, {"day": "2031-05-14", "zone": "UTC"}).content.decode()
    [link] = re.findall(r'class="cal-heat" href="([^"]+)"', page)
    assert link == "/admin/quota/?day=2031-05-14"
    text = desk.open("campaigns_quota", day="2031-05-14")
    assert "720 messages, most from 09:00 on: 2 % of the quota" in text
    assert "09:00 0 720 2 %" in text


def test_what_others_send_by_the_same_quota_is_in_the_line_and_nowhere_named(
    desk: Desk, project: Project
) -> None:
    twin = make_project(quota_per_minute=750)
    make_people(twin, 72)
    scheduled(twin, NINE, name="Secret sale")
    scheduled(twin, NINE, name="Second secret")
    found = days(desk)
    assert "144 messages" in found["2031-05-14"] and "ecret" not in found["2031-05-14"]


def test_two_on_one_day_say_how_many_people_would_get_both(desk: Desk, project: Project) -> None:
    devices = make_people(project, 5)
    for device in devices[:2]:
        device.contact.locale = "ko"
        device.contact.save()
    koreans = make_audience(project, rules={"all": [KOREANS]})
    scheduled(project, NINE, name="Lanterns")
    scheduled(project, NINE + HOUR, name="Seollal", audience=koreans)
    scheduled(project, NINE + 24 * HOUR, name="Alone")
    found = days(desk)
    assert "2 people would get both “Lanterns” and “Seollal”." in found["2031-05-14"]
    assert "would get both" not in found["2031-05-15"]


def test_who_has_a_device_for_each_of_the_two_gets_both(desk: Desk, project: Project) -> None:
    """No device fits both rules; their person does."""
    [device] = make_people(project, 1)
    person = device.contact
    person.devices.create(
        project=project, address="live-ios:APA91b", platform="ios",
        registered_at=timezone.now(), last_seen_at=timezone.now(),
    )  # fmt: skip
    for number, platform in enumerate(("android", "ios")):
        rules = {"all": [{"field": "platform", "op": "eq", "value": platform}]}
        audience = make_audience(project, rules=rules)
        scheduled(project, NINE + number * HOUR, name=platform, audience=audience)
    assert "1 person would get both “android” and “ios”." in days(desk)["2031-05-14"]


def test_audiences_that_share_nobody_say_nothing(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    for number, op in enumerate(("eq", "ne")):
        audience = make_audience(project, rules={"all": [{**KOREANS, "op": op}]})
        scheduled(project, NINE + number * HOUR, audience=audience)
    assert "would get both" not in days(desk)["2031-05-14"]


def test_a_series_is_counted_on_each_of_its_days(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    series = make_campaign(
        project, name="Digest", schedule_kind="recurring", repeat="daily", at=NINE, timezone="UTC"
    )
    control.launch(series, by="user:bob", now=timezone.now())
    scheduled(project, NINE + 49 * HOUR, name="Lanterns")
    found = days(desk)
    assert "3 people would get both “Digest” and “Lanterns”." in found["2031-05-16"]
    assert "would get both" not in found["2031-05-15"]
    assert "3 messages" in found["2031-05-15"]


def test_a_month_names_the_largest_pair_and_counts_the_others(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    for number in range(3):
        scheduled(project, NINE + number * HOUR, name=f"Sale {number}")
    month, week = (days(desk, view=view)["2031-05-14"] for view in ("month", "week"))
    assert month.count("would get both") == 1 and "And 2 more pairs." in month
    assert week.count("would get both") == 3


def test_of_many_campaigns_it_says_how_many_pairs_nobody_counted(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    for number in range(5):
        scheduled(project, NINE + number * HOUR, name=f"Sale {number}")
    week = days(desk)["2031-05-14"]
    assert week.count("3 people would get both") == 6
    assert "4 more pairs were not counted." in week


@pytest.mark.parametrize("once_each", [False, True])
def test_a_series_of_many_times_a_day_takes_no_others_place(
    desk: Desk, project: Project, *, once_each: bool
) -> None:
    make_people(project, 3)
    timed = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 * * * *"}
    series = make_campaign(
        project, name="Digest", at=NINE, timezone="UTC", once_each=once_each, **timed
    )
    control.launch(series, by="user:bob", now=timezone.now())
    scheduled(project, NINE + 10 * HOUR, name="Lanterns")
    said = days(desk)
    assert said["2031-05-14"].count("3 people would get both “Digest” and “Lanterns”.") == 1
    for day in ("2031-05-14", "2031-05-15"):
        itself = said.get(day, "").count("3 people would get both “Digest” and “Digest”.")
        assert itself == (0 if once_each else 1)
        assert "not counted" not in said.get(day, "")


def test_what_takes_too_long_is_estimated_or_said_not_to_be_counted(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 3)
    for number in range(2):
        scheduled(project, NINE + number * HOUR, name=f"Sale {number}")
    monkeypatch.setattr(estimating, "MOST", 100.0)
    count = common_people._count

    def only_a_part(*asked: Any) -> int:
        if asked[-1] is None:
            raise TooSlow
        return count(*asked)

    monkeypatch.setattr(common_people, "_count", only_a_part)
    assert "About 3 people would get both" in days(desk)["2031-05-14"]
    cache.clear()

    def never(*asked: Any) -> int:
        raise TooSlow

    monkeypatch.setattr(common_people, "_count", never)
    said = "How many would get both “Sale 0” and “Sale 1” was not counted."
    assert said in days(desk)["2031-05-14"]


def test_the_page_itself_counts_nobody(
    desk: Desk, project: Project, django_assert_max_num_queries: Any
) -> None:
    make_people(project, 3)
    for number in range(2):
        scheduled(project, NINE + number * HOUR)
    with django_assert_max_num_queries(40) as asked:
        desk.open("campaigns_calendar", day="2031-05-14")
    assert not [one for one in asked.captured_queries if "notifications_device" in one["sql"]]
