"""How long a launch takes, and the live page's reason for its rate."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.conf import LazySettings
from django.urls import reverse

from campaigns.engine import load
from campaigns.forecast import rate_forecast
from campaigns.results import why_this_rate
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate, Limit, cold_rate, full_rate
from notifications.pacing.load import Load
from notifications.people.project import Project
from tests.admin.desk import Desk, messages_of
from tests.given.builders import make_people, make_run
from tests.given.fleet import Fleet, redis_away


@pytest.fixture
def run(project: Project) -> Run:
    project.quota_per_minute, project.ramp_seconds = 6_000, 0
    project.save()
    make_people(project, 9)
    return make_run(project)


def ask(run: Run, heard: AnswerCounts | None = None) -> None:
    """What its workers do all the time."""
    gate = Gate(run.project, reference=run.reference, rate=run.rate_per_second)
    gate.take(100, heard or AnswerCounts())


def test_the_page_says_that_the_quota_is_the_limit(desk: Desk, run: Run) -> None:
    ask(run)
    text = desk.open("campaigns_run_change", run.pk)
    assert "At most 80: 80 % of the project's FCM quota." in text


def test_the_page_says_that_the_campaigns_own_rate_is(desk: Desk, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(rate_per_second=20)
    run.refresh_from_db()
    ask(run)
    text = desk.open("campaigns_run_change", run.pk)
    assert "At most 20: the campaign's own rate." in text


def test_the_page_says_that_it_starts_gently_and_until_when(desk: Desk, run: Run) -> None:
    Project.objects.update(ramp_seconds=600)
    run.project.refresh_from_db()
    ask(run)
    text = desk.open("campaigns_run_change", run.pk)
    assert "for now: it starts gently, and may reach 80 in 9 min" in text


def test_the_page_says_until_when_fcm_asked_us_to_wait(desk: Desk, run: Run) -> None:
    ask(run, AnswerCounts(pushed_back=1, retry_after=300))
    text = desk.open("campaigns_run_change", run.pk)
    assert "Nothing leaves before " in text and ": FCM asked us to wait." in text


def test_the_page_says_that_failures_slowed_it(desk: Desk, run: Run) -> None:
    ask(run, AnswerCounts(answered=5, failing=5))
    text = desk.open("campaigns_run_change", run.pk)
    assert "for now: slowed down, because FCM refused or failed too often." in text


def test_the_page_says_that_fcm_cannot_be_reached_and_when_it_is_tried(
    desk: Desk, run: Run
) -> None:
    ask(run, AnswerCounts(failing=5))
    text = desk.open("campaigns_run_change", run.pk)
    assert "Waiting for FCM. FCM fails or cannot be reached, so one message" in text
    assert re.search(r"the next at \d\d:\d\d:\d\d\. Then sending continues by itself\.", text)
    assert "Paused" not in text
    assert "Waiting for FCM. FCM fails or cannot be reached" in desk.open("index")


def test_the_page_does_not_need_redis_and_says_so(desk: Desk, run: Run) -> None:
    with redis_away():
        text = desk.open("campaigns_run_change", run.pk)
    assert "Redis does not answer, and each worker keeps to its own share." in text


def test_a_run_that_nobody_sends_is_not_said_to_be_held(desk: Desk, run: Run) -> None:
    assert "Nobody is sending at this moment. At most 80." in desk.open(
        "campaigns_run_change", run.pk
    )
    run.pause(Cause.BY_HAND, "by ada")
    assert "Paused: nothing is sent." in desk.open("campaigns_run_change", run.pk)
    run.move_to(Run.State.CANCELLED)
    assert "At most" not in desk.open("campaigns_run_change", run.pk)


def test_every_limit_has_its_words() -> None:
    assert set(why_this_rate.WORDS) == set(Limit)


# --- Before the launch ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "ramp", "said"),
    [
        (None, 0, "80 % of the project's FCM quota"),
        (20, 0, "the campaign's own rate"),
        (None, 60, "80 % of the project's FCM quota, reached in 57 s"),
        (20, 60, "the campaign's own rate, reached in 12 s"),
        (3, 60, "the campaign's own rate"),
    ],
)
def test_the_forecast_names_the_lowest_limit_and_the_climb_to_it(
    rate: int | None, ramp: int, said: str
) -> None:
    project = Project(quota_per_minute=6_000, ramp_seconds=ramp)
    assert rate_forecast.forecast_rate(project, rate).limit == said


def test_the_forecast_takes_the_workers_into_account(settings: LazySettings) -> None:
    settings.WORKERS = 1
    assert rate_forecast.forecast_rate(Project(ramp_seconds=0), None).limit == "1 worker process"


@pytest.mark.parametrize("rate", [None, 50])
@pytest.mark.parametrize("ramp", [0, 5, 20, 60])
@pytest.mark.parametrize("devices", [40, 600, 3_000])
def test_the_gate_keeps_to_the_forecast(devices: int, ramp: int, rate: int | None) -> None:
    project = Project(pk=1, quota_per_minute=6_000, ramp_seconds=ramp)
    foretold = rate_forecast.forecast_rate(project, rate).seconds(devices)
    fleet = Fleet(project)
    fleet.add("run:1", count=2, rate=rate)
    fleet.run(foretold + 2)
    sent = sum(count for _, count in fleet.grants["run:1"])
    assert devices * 0.98 <= sent <= devices + 5 * (rate or full_rate(project))


@pytest.mark.parametrize("ramp", [0, 60])
@pytest.mark.parametrize("devices", [0, 40, 600, 30_000])
def test_a_forecast_reaches_all_devices_in_the_time_it_foretells(devices: int, ramp: int) -> None:
    pace = rate_forecast.forecast_rate(Project(quota_per_minute=6_000, ramp_seconds=ramp), None)
    assert abs(pace.devices(pace.seconds(devices)) - devices) <= 1


def test_a_small_launch_does_not_wait_for_the_ramp() -> None:
    project = Project(quota_per_minute=600_000, ramp_seconds=60)
    assert cold_rate(project) == 400
    assert rate_forecast.forecast_rate(project, None).seconds(100) < 1


def test_the_page_says_that_the_projects_own_servers_are_busy(desk: Desk, run: Run) -> None:
    load.reported(run.project, 0.5)
    ask(run)
    text = desk.open("campaigns_run_change", run.pk)
    assert "At most 45, all runs together: your servers say that they are 50 % busy." in text
    assert "Go on without reports" not in text


def test_the_page_says_that_they_fell_silent_and_what_one_can_do(desk: Desk, run: Run) -> None:
    load.reported(run.project, 0.5)
    ask(run)
    seen = desk.client.get(reverse("admin:run_live", args=[run.pk])).content
    assert b"verb-ignore_load" not in seen
    Load.objects.update(reported_at=datetime(2026, 5, 31, 9, 30, 5, tzinfo=UTC))
    text = desk.open("campaigns_run_change", run.pk)
    assert "At most 45, all runs together, the last safe rate: your servers have not said" in text
    assert "since 31 May 2026, 18:30" in text
    live = desk.client.get(reverse("admin:run_live", args=[run.pk]), {"seen": "sending-0"})
    assert b"verb-ignore_load" in live.content, "a page that stands open gets the button"
    reply = desk.confirm("campaigns_run_ignore_load", run.pk)
    assert "goes on as planned, until your servers report again" in messages_of(reply)[-1]
    assert "At most 80: 80 % of" in desk.open("campaigns_run_change", run.pk)
