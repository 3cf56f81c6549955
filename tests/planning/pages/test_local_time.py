"""Whoever sends by each reader's clock reads before when, and for whom it is too late."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.planning import launch_problems, moving
from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
NINE = datetime(2031, 5, 7, tzinfo=UTC)  # 09:00 in Seoul
PAGES = ("campaign_review", "campaigns_campaign_launch")
WESTWARDS = ("Etc/UTC", "Etc/GMT+3", "Etc/GMT-5")  # it is time; in three hours; five hours ago


@pytest.fixture
def seoul(project: Project) -> Project:
    Project.objects.update(timezone="Asia/Seoul")
    project.refresh_from_db()
    return project


def reads(project: Project, zone: str, count: int) -> None:
    for _ in range(count):
        make_device(make_contact(project, timezone=zone))


def by_the_clock(project: Project, **values: Any) -> Campaign:
    asked = {"schedule_kind": "at", "at": NINE, "timezone": "Asia/Seoul", "local_time": True}
    return make_campaign(project, **{**asked, **values})


def just_now(project: Project, **values: Any) -> Campaign:
    """It is that time in UTC, and has been east of it."""
    return by_the_clock(project, at=timezone.now(), timezone="UTC", **values)


def codes(told: dict[str, Any]) -> list[str]:
    """What is odd, beside that nobody has given the project a key."""
    found = [warning["code"] for warning in told["warnings"]]
    return [code for code in found if code != "no_credentials"]


def test_before_a_launch_one_reads_when_the_first_and_the_last_get_it(
    desk: Desk, seoul: Project
) -> None:
    reads(seoul, "Asia/Seoul", 2)
    reads(seoul, "America/New_York", 1)
    campaign = by_the_clock(seoul)
    plan = (
        "By each reader&#x27;s clock: the first get it on 7 May 2031, 09:00 Asia/Seoul, the last "
        "on 7 May 2031, 22:00 Asia/Seoul."
    )
    for page in PAGES:
        said = desk.open(page, campaign.pk)
        assert plan in said or plan.replace("&#x27;", "'") in said
        assert "Finished about 7 May 2031, 22:00" in said
        assert "7 May 2031, 09:00, by each reader" in said
        assert "1 day from each reader" in said
    told = Caller(seoul).get(f"campaigns/{campaign.pk}/check").json()
    assert told["when"]["starts_at"] == "2031-05-06T19:00:00Z", "in the first zone of all"
    assert told["when"]["finishes_at"].startswith("2031-05-07T13:00:0")
    assert codes(told) == []


@pytest.mark.parametrize(
    ("passed", "words", "lost"),
    [
        ("next_day", "they get it at the same time the next day", 0),
        ("now", "they get it at once", 0),
        ("skip", "they get nothing", 2),
    ],
)
def test_where_the_time_has_passed_one_reads_what_becomes_of_how_many(
    desk: Desk, seoul: Project, passed: str, words: str, lost: int
) -> None:
    for zone in WESTWARDS:
        reads(seoul, zone, 2)
    campaign = just_now(seoul, passed=passed)
    assert "the time has passed" not in desk.open("campaigns_campaign_change", campaign.pk)
    for page in PAGES:
        said = desk.open(page, campaign.pk)
        assert f"For 33 % of the readers that time has passed: {words}" in said
    told = Caller(seoul).get(f"campaigns/{campaign.pk}/check").json()
    assert codes(told) == ["by_the_clock"]
    assert (told["who"]["devices"], told["who"]["skipped"]) == (6, lost)
    assert [one["reason"] for one in told["skipped"]] == (["local_time"] if lost else [])


@pytest.mark.parametrize(
    ("zoneless", "words", "lost"),
    [
        ("project", "they go by Asia/Seoul", 0),
        ("campaign", "they go by Europe/Berlin", 0),
        ("skip", "they get nothing", 1),
    ],
)
def test_of_people_without_a_time_zone_one_reads_how_many_and_what_becomes_of_them(
    desk: Desk, seoul: Project, zoneless: str, words: str, lost: int
) -> None:
    reads(seoul, "Asia/Seoul", 3)
    reads(seoul, "", 1)
    campaign = by_the_clock(seoul, zoneless=zoneless, timezone="Europe/Berlin")
    said = desk.open("campaign_review", campaign.pk)
    assert f"25 % of the readers have no time zone: {words}" in said
    told = Caller(seoul).get(f"campaigns/{campaign.pk}/check").json()
    assert (told["who"]["skipped"], len(told["skipped"])) == (lost, lost)


def test_what_is_foretold_is_what_becomes_of_them(seoul: Project) -> None:
    for zone in (*WESTWARDS, "", "Mars/Base"):
        reads(seoul, zone, 2)
    campaign = just_now(seoul, passed="skip", zoneless="skip")
    told = Caller(seoul).get(f"campaigns/{campaign.pk}/check").json()
    assert {one["reason"]: one["devices"] for one in told["skipped"]} == {
        "local_time": 2,
        "no_zone": 4,
    }
    assert told["who"]["sent_to"] == 4


def test_a_time_at_night_by_every_clock_is_worth_a_word(desk: Desk, seoul: Project) -> None:
    reads(seoul, "Asia/Seoul", 1)
    campaign = by_the_clock(seoul, at=NINE - timedelta(hours=6))
    assert "It is 03:00 for every reader, at night" in desk.open("campaign_review", campaign.pk)
    Project.objects.update(quiet_from=time(21), quiet_until=time(8))
    said = desk.open("campaign_review", campaign.pk)
    assert "at night" not in said and "7 May 2031, 08:00 Asia/Seoul" in said
    assert "100 % of the readers have quiet hours at 03:00: they get it at 08:00." in said


def test_a_time_in_everybodys_quiet_hours_says_when_they_get_it(desk: Desk, seoul: Project) -> None:
    reads(seoul, "Asia/Seoul", 3)
    reads(seoul, "America/New_York", 1)
    Project.objects.update(quiet_from=time(21), quiet_until=time(10))
    campaign = by_the_clock(seoul)
    waits = "100 % of the readers have quiet hours at 09:00: they get it at 10:00."
    for page in PAGES:
        said = desk.open(page, campaign.pk)
        assert waits in said
        assert "Quiet hours 21:00 to 10:00 where the reader is" in said
        assert "If it has passed They get it the next day" in said
    typed = {"campaign": campaign.pk, "schedule_kind": "at", "timezone": "Asia/Seoul",
             "at": "2031-05-07T09:00", "local_time": "on"}  # fmt: skip
    assert waits in desk.post("campaign_when", **typed).content.decode()
    typed["at"] = "2031-05-07T10:00"
    assert "have quiet hours" not in desk.post("campaign_when", **typed).content.decode()


def test_the_list_says_by_whose_clock_it_goes(desk: Desk, seoul: Project) -> None:
    by_the_clock(seoul, name="Nine")
    by_the_clock(seoul, name="Best", best_hour=True)
    make_campaign(seoul, name="Once", schedule_kind="at", at=NINE, timezone="Asia/Seoul")
    said = desk.open("campaigns_campaign_changelist")
    assert "7 May 2031, 09:00, by each reader's clock Not launched" in said
    assert "09:00, by each reader's clock, or at their best hour of that day" in said
    assert said.count("7 May 2031, 09:00 Asia/Seoul") == 1


def test_while_the_time_is_typed_the_page_says_when_it_goes_out(desk: Desk, seoul: Project) -> None:
    reads(seoul, "Asia/Seoul", 1)
    reads(seoul, "America/New_York", 1)
    campaign = make_campaign(seoul)
    typed = {"campaign": campaign.pk, "schedule_kind": "at", "timezone": "Asia/Seoul",
             "at": "2031-05-07T09:00", "local_time": "on"}  # fmt: skip
    said = desk.post("campaign_when", **typed).content.decode()
    assert "the last on 7 May 2031, 22:00 Asia/Seoul" in said
    del typed["local_time"]
    assert "the last on" not in desk.post("campaign_when", **typed).content.decode()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"schedule_kind": "now", "at": None}, "local_time"),
        ({"first_percent": 10}, "first_percent"),
    ],
)
def test_what_cannot_go_by_each_readers_clock_is_refused_by_its_field(
    seoul: Project, values: dict[str, Any], field: str
) -> None:
    reads(seoul, "Asia/Seoul", 1)
    campaign = by_the_clock(seoul)
    for name, value in values.items():
        setattr(campaign, name, value)
    with pytest.raises(Exception, match="clock") as refused:
        campaign.clean()
    assert [*refused.value.message_dict] == [field]  # type: ignore[attr-defined]


def test_a_program_reads_what_it_wrote_and_is_told_what_does_not_fit(seoul: Project) -> None:
    campaign, program = make_campaign(seoul), Caller(seoul)
    at = "2031-05-07T09:00"
    schedule = {"kind": "at", "at": at, "timezone": "Asia/Seoul", "local_time": True}
    given = {**schedule, "passed": "skip", "zoneless": "campaign"}
    told = program.patch(f"campaigns/{campaign.pk}", {"schedule": given}).json()["schedule"]
    assert told == {**given, "at": "2031-05-07T00:00:00Z", "best_hour": False}
    series = {**schedule, "kind": "recurring", "repeat": "daily", "best_hour": True}
    told = program.patch(f"campaigns/{campaign.pk}", {"schedule": series}).json()["schedule"]
    assert series.items() <= {**told, "at": at}.items() and "passed" not in told
    for wrong in ({**schedule, "kind": "now"}, {**series, "passed": "skip"}):
        refused = program.patch(f"campaigns/{campaign.pk}", {"schedule": wrong})
        assert refused.status_code == 400, wrong
        field, said = (refused.json()["errors"][0][name] for name in ("field", "message"))
        assert field in ("schedule.at", "schedule.local_time", "schedule.passed"), said
        assert said.startswith("Leave it out, or use the kind at")


def test_of_a_series_one_reads_by_whose_clock_each_goes(desk: Desk, seoul: Project) -> None:
    reads(seoul, "Asia/Seoul", 1)
    reads(seoul, "America/New_York", 3)
    repeats = {"schedule_kind": "recurring", "repeat": "daily"}
    campaign = by_the_clock(seoul, name="Daily", **repeats)
    listed = desk.open("campaigns_campaign_changelist")
    assert "Every day, by each reader's clock from 7 May 2031, 09:00 Not launched" in listed
    for page in PAGES:
        said = desk.open(page, campaign.pk)
        assert "Every day, by each reader's clock" in said
        assert "Wed 7 May 2031, 09:00 Thu 8 May 2031, 09:00" in said, "a clock in each zone"
        assert "If it has passed" not in said
    typed = {"campaign": campaign.pk, "timezone": "Asia/Seoul", "at": "2031-05-07T09:00",
             "local_time": "on", **repeats}  # fmt: skip
    beside = desk.post("campaign_when", **typed).content.decode()
    assert "the last on 7 May 2031, 22:00 Asia/Seoul" in beside, "of the first of them"
    assert "Thu 8 May 2031, 09:00" in beside
    assert "Thu 8 May 2031, 09:00 Asia" not in beside, "it is meant in each zone"

    Campaign.objects.update(at=timezone.now() + timedelta(hours=8), timezone="UTC")
    said = desk.open("campaign_review", campaign.pk)
    assert "of the readers that time has passed: they get the next one." in said


def test_a_time_that_has_passed_everywhere_cannot_be_launched(seoul: Project) -> None:
    reads(seoul, "Etc/GMT+12", 1)
    campaign = just_now(seoul)
    Campaign.objects.update(at=timezone.now() - timedelta(hours=11, minutes=59))
    campaign.refresh_from_db()
    assert launch_problems.problems(campaign, timezone.now()) == {}
    Campaign.objects.update(at=timezone.now() - timedelta(hours=12, minutes=1))
    campaign.refresh_from_db()
    assert "This time has passed" in launch_problems.problems(campaign, timezone.now())["at"]


def test_the_page_of_a_run_says_by_which_time_it_goes(desk: Desk, seoul: Project) -> None:
    reads(seoul, "Asia/Seoul", 1)
    run = control.launch(by_the_clock(seoul), by="user:alice", now=timezone.now())
    said = desk.open("campaigns_run_change", run.pk)
    assert "7 May 2031, 09:00; people without a time zone go by Asia/Seoul" in said
    assert "Where that time has passed They get it the next day, at that time" in said


def test_a_run_by_each_readers_clock_is_not_moved(seoul: Project) -> None:
    reads(seoul, "Asia/Seoul", 1)
    run = control.launch(by_the_clock(seoul), by="user:alice", now=timezone.now())
    later = run.scheduled_at + timedelta(days=1)
    assert "by each reader's clock" in moving.problem(run, later, timezone.now())


def _as_it_launches(campaign: Campaign) -> dict[str, Any]:
    return {
        "project_id": campaign.project_id, "campaign": campaign, "occurrence": "once",
        "state": "scheduled", "content": campaign.content, "rules": {"all": []},
        "ttl_seconds": 3_600, "max_lateness_seconds": 900, "on_unknown": "resend",
        "scheduled_at": campaign.at, "launched_by": "user:alice",
    }  # fmt: skip
