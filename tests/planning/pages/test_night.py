"""Before a launch one reads who would get it at night, by the readers' own clocks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

import pytest
from django.utils import timezone

from campaigns.planning.campaign import Campaign
from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
NIGHT = datetime(2031, 5, 7, 18, tzinfo=UTC)  # 03:00 in Seoul, 20:00 in Berlin


def reads(project: Project, zone: str, count: int) -> None:
    for _ in range(count):
        make_device(make_contact(project, timezone=zone))


def test_before_a_launch_one_reads_who_gets_it_at_night(desk: Desk, project: Project) -> None:
    reads(project, "Asia/Seoul", 6)
    reads(project, "Asia/Tokyo", 1)
    reads(project, "", 1)  # counts by the project's
    reads(project, "Europe/Berlin", 2)
    campaign = make_campaign(project, schedule_kind="at", at=NIGHT, timezone="Asia/Seoul")
    said = (
        "80 % of the readers get it between 22:00 and 08:00 on their own clocks: "
        "70 % at 03:00 in Asia/Seoul, 10 % at 03:00 in Asia/Tokyo."
    )
    for page in ("campaign_review", "campaigns_campaign_launch"):
        assert said in desk.open(page, campaign.pk)
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert "at_night" in [warning["code"] for warning in told["warnings"]]
    typed = {"campaign": campaign.pk, "schedule_kind": "at", "timezone": "Asia/Seoul"}
    night = desk.post("campaign_when", **typed, at="2031-05-08T03:00").content.decode()
    assert said in night
    day = desk.post("campaign_when", **typed, at="2031-05-08T16:00").content.decode()
    assert "It goes out" in day and "on their own clocks" not in day


def test_one_reader_in_thirty_asleep_is_no_warning(desk: Desk, project: Project) -> None:
    reads(project, "Asia/Seoul", 1)
    reads(project, "Europe/Berlin", 29)
    campaign = make_campaign(project, schedule_kind="at", at=NIGHT, timezone="Asia/Seoul")
    assert "on their own clocks" not in desk.open("campaign_review", campaign.pk)


def test_with_quiet_hours_one_reads_who_waits_until_when_and_for_whom_it_is_too_late(
    desk: Desk, project: Project
) -> None:
    reads(project, "Asia/Seoul", 6)  # sleeps until 23:00 UTC
    reads(project, "America/New_York", 2)  # 14:00 there
    reads(project, "", 1)  # counts by the project's, which is Seoul
    reads(project, "Asia/Kolkata", 1)  # sleeps until 02:30 UTC
    Project.objects.update(quiet_from=time(21), quiet_until=time(8))
    campaign = make_campaign(
        project, schedule_kind="at", at=NIGHT, timezone="Asia/Seoul", ttl_seconds=6 * 3_600
    )
    waits = (
        "70 % of the readers have quiet hours then: they wait until these end, the last "
        "until 8 May 2031, 08:00 Asia/Seoul."
    )
    never = "10 % of the readers would be skipped: it expires before their quiet hours end."
    for page in ("campaign_review", "campaigns_campaign_launch"):
        said = desk.open(page, campaign.pk)
        assert waits in said and never in said and "on their own clocks" not in said
        assert "Finished about 8 May 2031, 08:00 Asia/Seoul" in said
    Category.objects.create(
        project=project, name="Alarms", slug="alarms", kind=Category.Kind.CRITICAL
    )
    Campaign.objects.update(category=Category.objects.get())
    said = desk.open("campaign_review", campaign.pk)
    assert "on their own clocks" in said and "Quiet hours none: it goes at any hour" in said


def test_the_quiet_hours_end_by_the_clock_of_the_table(desk: Desk, project: Project) -> None:
    reads(project, "UTC", 3)
    Project.objects.update(timezone="UTC", quiet_from=time(16), quiet_until=time(8))
    at = datetime(2031, 5, 7, 18, tzinfo=UTC)
    campaign = make_campaign(project, schedule_kind="at", at=at, timezone="Asia/Seoul")
    for page in ("campaign_review", "campaigns_campaign_launch"):
        said = desk.open(page, campaign.pk)
        assert "the last until 8 May 2031, 17:00 Asia/Seoul." in said
        assert "Finished about 8 May 2031, 17:00 Asia/Seoul" in said
    typed = {"campaign": campaign.pk, "schedule_kind": "at", "timezone": "Asia/Tokyo"}
    said = text_of(desk.post("campaign_when", **typed, at="2031-05-08T03:00"))
    assert "the last until 8 May 2031, 17:00 Asia/Tokyo." in said
    assert "Finished about 8 May 2031, 17:00 Asia/Tokyo" in said


def rests_now(project: Project) -> None:
    """For the next hour, wherever its readers are."""
    now = timezone.now()
    begin, end = now - timedelta(hours=1), now + timedelta(hours=1)
    Project.objects.update(
        timezone="UTC", quiet_from=begin.time().replace(microsecond=0, second=0),
        quiet_until=end.time().replace(microsecond=0, second=0),
    )  # fmt: skip
    project.refresh_from_db()


def test_of_what_leaves_at_once_step_when_says_who_has_quiet_hours(
    desk: Desk, project: Project
) -> None:
    rests_now(project)
    reads(project, "UTC", 1)
    reads(project, "Etc/GMT-5", 1)
    campaign = make_campaign(project)
    typed = {"campaign": campaign.pk, "schedule_kind": "now", "timezone": "UTC"}
    said = desk.post("campaign_when", **typed, ttl_seconds="2 h").content.decode()
    assert "50 % of the readers have quiet hours then: they wait until these end" in said
    said = desk.post("campaign_when", **typed, ttl_seconds="10 min").content.decode()
    assert "50 % of the readers would be skipped" in said, "as it is typed"
    for wrong in ("999999999 days", "1", "soon"):
        said = desk.post("campaign_when", **typed, ttl_seconds=wrong).content.decode()
        assert "have quiet hours then" in said


def test_the_headline_says_for_how_many_it_is_sent_in_vain(desk: Desk, project: Project) -> None:
    rests_now(project)
    reads(project, "UTC", 3)
    reads(project, "Etc/GMT-5", 1)
    campaign = make_campaign(project, ttl_seconds=600)
    for page in ("campaign_review", "campaigns_campaign_launch"):
        said = desk.open(page, campaign.pk)
        assert "4 will be sent to. 3 of them get nothing: it expires during their quiet" in said
    assert "would wake" not in desk.open("campaign_review", campaign.pk)
    Campaign.objects.update(ttl_seconds=86_400)
    assert "get nothing" not in desk.open("campaign_review", campaign.pk)


def test_one_reader_in_three_hundred_is_not_none(desk: Desk, project: Project) -> None:
    rests_now(project)
    reads(project, "UTC", 1)
    reads(project, "Etc/GMT-5", 300)
    said = desk.open("campaign_review", make_campaign(project).pk)
    assert "Under 1 % of the readers have quiet hours then" in said


def test_step_when_and_the_review_say_one_finish_for_a_first_part_that_sleeps(
    desk: Desk, project: Project
) -> None:
    reads(project, "Asia/Seoul", 6)
    reads(project, "America/New_York", 6)
    Project.objects.update(timezone="UTC", quiet_from=time(21), quiet_until=time(8))
    campaign = make_campaign(
        project, schedule_kind="at", at=NIGHT, timezone="Asia/Seoul",
        first_percent=50, first_least=1, first_wait_seconds=4 * 3_600,
    )  # fmt: skip
    typed = {"schedule_kind": "at", "timezone": "Asia/Seoul", "at": "2031-05-08T03:00"}
    typed |= {"first_percent": "50", "first_least": "1", "first_wait_seconds": "4 h"}

    review = desk.open("campaign_review", campaign.pk)
    when = text_of(desk.post("campaign_when", campaign=campaign.pk, **typed))
    finish = re.search(r"Finished about ([^.]*?Asia/Seoul)", review)
    assert finish and finish[1] == "8 May 2031, 21:00 Asia/Seoul"
    assert f"Finished about {finish[1]}." in when
