"""Whoever sends by best hours reads before who has one; and of each person, which it is and why."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from campaigns import control
from campaigns.engine import engine
from campaigns.forecast.other_runs.run_sizes import Sizes
from campaigns.forecast.solver.rules import PersonKind
from campaigns.planning import launch_problems
from campaigns.planning.campaign import Campaign
from campaigns.runs import best_hour
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
SEOUL = "Asia/Seoul"
NINE = datetime(2031, 5, 7, tzinfo=UTC)  # 09:00 in Seoul
PAGES = ("campaign_review", "campaigns_campaign_launch")
A_DAY = timedelta(days=1)


@pytest.fixture
def seoul(project: Project) -> Project:
    Project.objects.update(timezone=SEOUL)
    project.refresh_from_db()
    return project


def reads(project: Project, hour: int | None = None, zone: str = SEOUL, **values: Any) -> Contact:
    """They opened three messages of four at this hour."""
    person = make_contact(project, timezone=zone, **values)
    make_device(person)
    if hour is not None:
        noon = timezone.now().astimezone(ZoneInfo(zone)).replace(hour=12) - A_DAY
        hours = (hour, hour, 12, hour)
        best_hour.keep([(person.pk, zone, noon.replace(hour=at)) for at in hours])
    return person


def by_best_hours(project: Project, **values: Any) -> Campaign:
    asked = {"schedule_kind": "at", "at": NINE, "timezone": SEOUL, "local_time": True}
    return make_campaign(project, **{**asked, "best_hour": True, **values})


def test_before_a_launch_one_reads_that_nobody_has_a_best_hour_yet(
    desk: Desk, seoul: Project
) -> None:
    reads(seoul)
    said = desk.open("campaign_review", by_best_hours(seoul).pk)
    assert "None of the readers has a best hour yet: all get it at 09:00." in said


def test_before_a_launch_one_reads_how_many_have_a_best_hour_and_when_it_is_over(
    desk: Desk, seoul: Project
) -> None:
    reads(seoul, 7)
    reads(seoul, 20, "America/New_York")
    reads(seoul)
    reads(seoul, zone="")
    campaign = by_best_hours(seoul)
    plan = (
        "50 % of the readers have a best hour, and get it then; the others at 09:00. By each "
        "reader's clock: the first get it on 7 May 2031, 07:00 Asia/Seoul, the last on 8 May 2031, "
        "09:00 Asia/Seoul."
    )
    for page in PAGES:
        said = desk.open(page, campaign.pk)
        assert plan in said
        assert (
            "7 May 2031, 09:00, by each reader's clock, or at their best hour of that day" in said
        )
    typed = {"campaign": campaign.pk, "schedule_kind": "at", "timezone": SEOUL,
             "at": "2031-05-07T09:00", "local_time": "on", "best_hour": "on"}  # fmt: skip
    assert plan in desk.post("campaign_when", **typed).content.decode().replace("&#x27;", "'")
    told = Caller(seoul).get(f"campaigns/{campaign.pk}/check").json()
    assert told["when"]["starts_at"] == "2031-05-06T10:00:00Z", "midnight in the first zone of all"
    assert told["when"]["finishes_at"].startswith("2031-05-08T00:00:0")
    assert sum(count for count in told["forecast"]["counts"]) == 4


def test_what_is_foretold_is_what_becomes_of_them(desk: Desk, seoul: Project) -> None:
    """Launched at noon: whose hour was in the morning gets nothing, if the campaign says so."""
    noon = timezone.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    zone = f"Etc/GMT{noon.hour - 12:+d}" if noon.hour != 12 else "UTC"
    reads(seoul, 3, zone)
    reads(seoul, 5, zone)
    late = [reads(seoul, 20, zone), reads(seoul, None, zone)]
    campaign = by_best_hours(
        seoul, at=noon + timedelta(hours=3), timezone=zone, passed="skip", ttl_seconds=3_600
    )
    assert "For 50 % of the readers that time has passed" in desk.open(
        "campaign_review", campaign.pk
    )
    told = Caller(seoul).get(f"campaigns/{campaign.pk}/check").json()
    assert [(one["reason"], one["devices"]) for one in told["skipped"]] == [("local_time", 2)]
    assert told["skipped"][0]["message"] == "2 devices: their people's time has passed."
    assert (told["forecast"]["sent"], told["who"]["sent_to"]) == (2, 2)
    assert len(late) == 2


def test_beside_another_campaign_it_is_planned_by_best_hours_too(seoul: Project) -> None:
    """What is kept of it for some minutes says the same."""
    reads(seoul, 19)
    reads(seoul)
    asked, by_the_clock = by_best_hours(seoul), by_best_hours(seoul, best_hour=False)
    for _again in range(2):
        sizes = Sizes([asked.pk, by_the_clock.pk])
        found = [sizes.size_of(one, {"all": []}, NINE) for one in (asked, by_the_clock)]
        assert [one and one.kinds for one in found] == [
            {PersonKind(SEOUL, best_hour=19): 1, PersonKind(SEOUL): 1},
            {PersonKind(SEOUL): 2},
        ]


def test_at_night_is_only_who_has_no_best_hour(desk: Desk, seoul: Project) -> None:
    reads(seoul, 19)
    campaign = by_best_hours(seoul, at=NINE - timedelta(hours=6))
    assert "at night" not in desk.open("campaign_review", campaign.pk)
    reads(seoul)
    said = desk.open("campaign_review", campaign.pk)
    assert "It is 03:00, at night, for the readers without a best hour" in said
    Project.objects.update(quiet_from=time(21), quiet_until=time(8))
    said = desk.open("campaign_review", campaign.pk)
    assert "at night" not in said
    assert "50 % of the readers have quiet hours when it is their time: they get it at" in said


def test_a_program_reads_what_it_wrote_and_is_told_what_does_not_fit(seoul: Project) -> None:
    campaign, program = make_campaign(seoul), Caller(seoul)
    given = {"kind": "at", "at": "2031-05-07T09:00", "timezone": SEOUL, "local_time": True,
             "best_hour": True, "passed": "skip", "zoneless": "campaign"}  # fmt: skip
    told = program.patch(f"campaigns/{campaign.pk}", {"schedule": given}).json()["schedule"]
    assert told == {**given, "at": "2031-05-07T00:00:00Z"}
    for wrong in (
        {**given, "local_time": False},
        {**given, "kind": "recurring", "repeat": "daily"},
    ):
        refused = program.patch(f"campaigns/{campaign.pk}", {"schedule": wrong})
        assert refused.status_code == 400
        fields = [error["field"] for error in refused.json()["errors"]]
        assert set(fields) <= {"schedule.best_hour", "schedule.passed"}


def test_what_a_page_left_behind_is_nothing_without_each_readers_clock(seoul: Project) -> None:
    reads(seoul, 19)
    campaign = by_best_hours(seoul, local_time=False)
    told = Caller(seoul).get(f"campaigns/{campaign.pk}").json()["schedule"]
    assert (told["local_time"], told["best_hour"]) == (False, False)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    assert (run.hour, run.scheduled_at) == (None, NINE)


def test_a_day_that_is_over_for_everybody_cannot_be_launched(seoul: Project) -> None:
    reads(seoul, 23, "Etc/GMT+12")
    campaign = by_best_hours(seoul)
    last = datetime(2031, 5, 8, 11, tzinfo=UTC)  # 23:00 on the 7th in the last zone
    assert launch_problems.problems(campaign, last - timedelta(minutes=1)) == {}
    assert "This time has passed" in launch_problems.problems(campaign, last)["at"]


def launched(project: Project) -> Run:
    campaign = by_best_hours(project, at=timezone.now() + A_DAY / 4, timezone="UTC")
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    Run.objects.filter(pk=run.pk).update(scheduled_at=timezone.now(), state="preparing")
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def test_of_each_person_is_said_which_hour_it_is_and_why(desk: Desk, seoul: Project) -> None:
    ada = reads(seoul, 19, external_id="ada")
    bob = reads(seoul, external_id="bob")
    words = "Best hour: 19 (opened 3 of 4 between 19:00 and 20:00 in the last 90 days)."
    assert words in desk.open("person_sent", ada.pk)
    assert "Best hour" not in desk.open("person_sent", bob.pk)
    run = launched(seoul)
    assert words in desk.open("run_why", run.pk, person="ada")
    clock = f"{run.local_time.wall:%H:%M}" if run.local_time else ""
    said = desk.open("run_why", run.pk, person="bob")
    assert f"This person had no best hour, and goes by {clock}." in said
    assert "At each person's best hour" in desk.open("campaigns_run_change", run.pk)
    program = Caller(seoul)
    told = [program.get(f"runs/{run.pk}/why?contact={who}").json() for who in ("ada", "bob")]
    assert [one["recipients"][0]["best_hour"] for one in told] == [
        {"hour": 19, "opened": 3, "of": 4},
        None,
    ]


def test_of_a_run_of_another_kind_no_hour_is_said(desk: Desk, seoul: Project) -> None:
    reads(seoul, 19, external_id="ada")
    run = control.launch(make_campaign(seoul), by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    assert "best hour" not in desk.open("run_why", run.pk, person="ada").lower()


def test_an_export_has_the_hours_in_which_the_person_opened_something(
    desk: Desk, seoul: Project
) -> None:
    ada = reads(seoul, 19)
    reply = desk.client.get(reverse("admin:person_export", args=[ada.pk]))
    told = json.loads(b"".join(reply.streaming_content))["opens"]  # type: ignore[attr-defined]
    yesterday = timezone.now().astimezone(ZoneInfo(SEOUL)) - A_DAY
    assert told == [f"{yesterday:%Y-%m-%d}T{hour}" for hour in (19, 19, 19, 12)]


def test_a_launch_says_that_it_begins_with_the_day(desk: Desk, seoul: Project) -> None:
    reads(seoul, 19)
    campaign = by_best_hours(seoul)
    translation.activate("en")
    reply = desk.client.post(
        reverse("admin:campaigns_campaign_launch", args=[campaign.pk]),
        {"_form_submitted": "on"}, follow=True,
    )  # fmt: skip
    assert reply.status_code == 200
    assert Run.objects.get().scheduled_at == datetime(2031, 5, 6, 10, tzinfo=UTC)
