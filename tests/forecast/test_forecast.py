"""A forecast learns from the project's last runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from campaigns.forecast import rate_forecast
from campaigns.runs.run import Run
from notifications.pacing.gate import Limit
from notifications.pacing.load import report
from notifications.people.project import Project
from tests.given.builders import make_people, make_project, make_run

pytestmark = pytest.mark.django_db
LATER = datetime(2031, 5, 7, 18, tzinfo=UTC)


@pytest.fixture
def project(settings: LazySettings) -> Project:
    settings.WORKERS = 2
    return make_project(quota_per_minute=600_000, timezone="Asia/Seoul")


def ran(project: Project, *, messages: int, seconds: int, **values: object) -> Run:
    run = make_run(project)
    ended = timezone.now()
    counted = {"planned": messages, "accepted": messages, "state": Run.State.FINISHED}
    times = {"started_at": ended - timedelta(seconds=seconds), "finished_at": ended}
    at_rest = {"unfrozen": None}
    Run.objects.filter(pk=run.pk).update(**counted | times | at_rest | values)
    return run


def test_a_forecast_is_as_fast_as_the_last_run_of_that_size_was(project: Project) -> None:
    ran(project, messages=40_000, seconds=43)
    pace = rate_forecast.forecast_rate(project, None, 40_000)
    assert (round(pace.seconds(40_000)), pace.limit) == (43, "as fast as your last run")


def test_of_several_runs_the_forecast_takes_the_fastest(project: Project) -> None:
    for seconds in (25, 9_000, 40, 50):  # the first is the fourth last, and too long ago
        ran(project, messages=40_000, seconds=seconds)
    pace = rate_forecast.forecast_rate(project, None, 40_000)
    assert (pace.rate, pace.limit) == (1_000, "as fast as the fastest of your last 3 runs")


@pytest.mark.parametrize(
    "unlike",
    [
        {"resumed_at": LATER},
        {"reopened_at": LATER},
        {"rate_per_second": 930},  # it was given no more
        {"state": Run.State.CANCELLED},
        {"planned": 100, "accepted": 100},
        {"planned": 800_000, "accepted": 800_000},
        {"skipped": 39_900, "accepted": 100},
        {"skipped": 10_000, "accepted": 30_000},  # they took their time, too
    ],
)
def test_a_run_that_was_held_up_or_of_another_size_teaches_nothing(
    project: Project, unlike: dict[str, object]
) -> None:
    ran(project, messages=40_000, seconds=43, **unlike)
    assert "your last" not in rate_forecast.forecast_rate(project, None, 40_000).limit


def test_another_projects_runs_teach_nothing(project: Project) -> None:
    ran(make_project(), messages=40_000, seconds=43)
    assert "your last" not in rate_forecast.forecast_rate(project, None, 40_000).limit


def test_a_fast_run_does_not_lift_the_quota_or_the_campaigns_own_rate(project: Project) -> None:
    ran(project, messages=40_000, seconds=10)
    assert rate_forecast.forecast_rate(project, 100, 40_000).limit == "the campaign's own rate"
    project.quota_per_minute = 6_000
    assert rate_forecast.forecast_rate(project, None, 40_000).rate == 80


@pytest.mark.parametrize(("level", "rate"), [(0, 300.0), (0.5, 155.0), (1, 10.0)])
def test_a_forecast_keeps_to_what_the_servers_bear_just_now(
    project: Project, level: float, rate: float
) -> None:
    busy = report(project, level, plan=4_000)
    pace = rate_forecast.forecast_rate(project, 300, load=busy)
    assert pace.rate == rate
    assert pace.by == (Limit.LOAD if level else Limit.RATE)


@pytest.mark.parametrize(("gap", "measured"), [(50, True), (70, False)])
def test_a_run_in_which_people_slept_says_nothing_of_how_fast_we_are(
    project: Project, gap: int, measured: bool
) -> None:
    make_people(project, 1)
    run = ran(project, messages=40_000, seconds=4_000)
    began = timezone.now()
    for seconds in (0, 1, gap + 1):
        opened = began + timedelta(seconds=seconds)
        run.chunks.get().windows.create(run=run, attempt=1, seqs=[1], opened_at=opened)
    pace = rate_forecast.forecast_rate(project, None, 40_000)
    assert ("last run" in pace.limit) == measured
