"""Two projects that are one at Firebase: FCM counts them together, and so does the gate."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings

from campaigns.forecast import rate_forecast
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate, Limit, full_rate, pace_of
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.fleet import Fleet, redis_away

NOTHING = AnswerCounts()
pytestmark = pytest.mark.django_db


def fresh(project: Project) -> Project:
    """As a worker reads it with its next chunk."""
    return Project.objects.get(pk=project.pk)


def two(**others: Any) -> tuple[Project, Project]:
    large = make_project(quota_per_minute=60_000)
    return large, make_project(quota_per_minute=6_000, **others)


def test_they_send_together_at_the_lower_quota_in_equal_parts() -> None:
    large, small = two()
    fleet = Fleet(large)
    fleet.add("run:1", count=3)
    fleet.add("run:2", project=small)
    fleet.run(60)
    assert fleet.rate(last=30) == pytest.approx(80, rel=0.02)
    assert fleet.rate("run:1", last=30) == pytest.approx(40, rel=0.1)


def test_the_lower_quota_counts_also_while_nothing_of_its_project_is_sent() -> None:
    large, _ = two()
    fleet = Fleet(large)
    fleet.add("run:1", count=3)
    fleet.run(30)
    assert fleet.rate(last=20) == pytest.approx(80, rel=0.02)
    assert full_rate(large) == rate_forecast.forecast_rate(large, None).rate == 80


def test_the_longer_ramp_counts() -> None:
    large, _ = two(ramp_seconds=60)
    fleet = Fleet(large)
    fleet.add("run:1", count=3)
    fleet.run(10)
    assert fleet.rate(last=10) < 40
    assert "reached in" in rate_forecast.forecast_rate(large, None).limit


@pytest.mark.parametrize(
    "different",
    [{"firebase_project_id": "another"}, {"uses_emulator": False}],
    ids=["another Firebase project", "another FCM"],
)
def test_those_that_are_not_the_same_there_have_a_gate_each(
    different: dict[str, Any], settings: LazySettings
) -> None:
    settings.GOOGLE_FCM_ENDPOINT = "https://fcm.example"
    large, small = two(**different)
    fleet = Fleet(large)
    fleet.add("run:1", count=3)
    fleet.add("run:2", project=small)
    fleet.run(30)
    assert fleet.rate("run:1", last=20) == pytest.approx(800, rel=0.02)
    assert fleet.rate("run:2", last=20) == pytest.approx(80, rel=0.02)


def test_what_fcm_tells_one_of_them_is_heard_by_the_other_and_shown_on_its_page() -> None:
    large, small = two()
    Gate(large, reference="run:1").take(0, AnswerCounts(pushed_back=1, retry_after=60))
    assert Gate(small, reference="run:2").take(9, NOTHING).limit is Limit.RETRY_AFTER
    assert pace_of(small, "run:2", None).limit is Limit.RETRY_AFTER


def test_without_redis_a_process_has_one_share_for_both(settings: LazySettings) -> None:
    settings.WORKERS = 1
    large, small = two()
    now = 0.0
    gates = [
        Gate(project, reference=f"run:{project.pk}", clock=lambda: now)
        for project in (large, small)
    ]
    with redis_away():
        taken = 0
        for step in range(600):
            now = 1_000 + step / 10
            taken += sum(gate.take(100, NOTHING).granted for gate in gates)
    assert taken <= 60 * 80


def test_a_quota_that_is_raised_or_lowered_counts_from_the_next_chunk() -> None:
    large, small = two()
    assert full_rate(large) == 80
    Project.objects.filter(pk=small.pk).update(quota_per_minute=30_000)
    assert full_rate(fresh(large)) == 400
    small.delete()
    assert full_rate(fresh(large)) == 800
