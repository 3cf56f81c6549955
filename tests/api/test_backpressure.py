"""A project's own servers say how busy they are, and its runs follow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.engine import load
from campaigns.runs.run import Run
from notifications.pacing.load import Load
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_people, make_run
from tests.given.runs import unreported

ADDRESS = "backpressure"
NOBODY = {"level": None, "safe_rate_per_second": None, "reported_at": None, "silent": False}


def reported(caller: Caller, level: float) -> float:
    """The rate that follows."""
    answer = caller.post(ADDRESS, {"level": level})
    assert answer.status_code == 200, answer.content
    rate: float = answer.json()["safe_rate_per_second"]
    return rate


def test_a_level_is_a_rate_between_what_the_runs_plan_and_the_floor(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 2)
    make_run(ours, rate_per_second=110)
    assert [reported(alice, level) for level in (0, 0.5, 1)] == [110, 60, 10]
    Project.objects.update(floor_per_second=30)
    assert reported(alice, 1) == 30


def test_what_all_runs_plan_together_counts_up_to_the_quota(alice: Caller, ours: Project) -> None:
    make_people(ours, 600)
    assert reported(alice, 0) == 8_000, "while nothing is sent: all that FCM's quota allows"
    make_run(ours, rate_per_second=100)
    make_run(ours, spread_seconds=60)
    paused = make_run(ours, rate_per_second=5_000)
    Run.objects.filter(pk=paused.pk).update(state="paused", cause="by_hand")
    make_run(make_people(ours, 1)[0].project, advanced=False, rate_per_second=5_000)
    assert reported(alice, 0) == 110
    make_run(ours)
    assert reported(alice, 0) == 8_000


def test_a_run_whose_people_all_sleep_plans_nothing(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    make_run(ours, rate_per_second=110)
    asleep = make_run(ours)
    asleep.chunks.update(state="waiting", not_before=timezone.now() + timedelta(hours=5))
    assert reported(alice, 0.5) == 60
    asleep.chunks.update(not_before=timezone.now() + timedelta(seconds=5))
    assert reported(alice, 0) == 8_000


def test_a_plan_below_the_floor_stays_as_it_is(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    make_run(ours, rate_per_second=4)
    assert [reported(alice, level) for level in (0, 0.5, 1)] == [4, 4, 4]


def test_only_a_report_raises_the_rate(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    make_run(ours, rate_per_second=100)
    assert reported(alice, 0.5) == 55
    run = make_run(ours, rate_per_second=1_000)
    assert Run.objects.get(pk=run.pk).safe_rate == 55
    assert reported(alice, 0.5) == 555


def test_what_was_reported_last_can_be_read_back(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    assert alice.get(ADDRESS).json() == NOBODY
    before = timezone.now()
    reported(alice, 0.25)
    shown = alice.get(ADDRESS).json()
    assert (shown["level"], shown["silent"]) == (0.25, False)
    assert shown["reported_at"] >= f"{before:%Y-%m-%dT%H:%M:%S}"
    assert charlie.get(ADDRESS).json() == NOBODY
    Load.objects.update(reported_at=timezone.now() - timedelta(seconds=31))
    assert alice.get(ADDRESS).json()["silent"]


@pytest.mark.parametrize(
    "level", [-0.1, 1.1, 40, True, "0.5", None, [], {}, 1e300, -1e-9], ids=repr
)
def test_what_is_no_level_is_refused_by_its_name(alice: Caller, ours: Project, level: Any) -> None:
    refused = alice.post(ADDRESS, {"level": level})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["level"])
    assert not Load.objects.exists()


def test_nothing_and_more_than_a_level_are_refused(alice: Caller, ours: Project) -> None:
    assert fields_at_fault(alice.post(ADDRESS, {})) == ["level"]
    assert fields_at_fault(alice.post(ADDRESS, {"level": 1, "load": 2})) == ["load"]
    assert alice.post(ADDRESS, [1]).status_code == 400


def test_the_same_report_sent_twice_counts_once(alice: Caller, ours: Project) -> None:
    named = {"idempotency_key": "tick-1"}
    first = alice.post(ADDRESS, {"level": 1}, **named)
    reported(alice, 0)
    again = alice.post(ADDRESS, {"level": 1}, **named)
    assert (again.status_code, again.json()) == (200, first.json())
    assert Load.objects.get().level == 0


def test_a_key_that_may_not_write_runs_reports_nothing(ours: Project) -> None:
    stranger = Caller(ours, scopes=["contacts"])
    assert stranger.post(ADDRESS, {"level": 1}).status_code == 403
    assert Caller(ours, scopes=["runs"]).post(ADDRESS, {"level": 1}).status_code == 200


# --- Silence --------------------------------------------------------------------------------------


def test_who_falls_silent_leaves_the_last_rate_until_somebody_goes_on_without(
    alice: Caller, ours: Project
) -> None:
    run = unreported(ours)
    assert Run.objects.get(pk=run.pk).safe_rate == 10
    shown = alice.get(f"runs/{run.pk}").json()
    assert "ignore-load" in shown["verbs"]
    assert alice.post(f"runs/{run.pk}/ignore-load").status_code == 200
    assert Run.objects.get(pk=run.pk).safe_rate is None
    assert AuditEntry.objects.latest("pk").action == "went on without reports of the load in"
    assert reported(alice, 1) == 10, "the next report counts again"


def test_a_report_that_comes_in_time_keeps_the_rate(alice: Caller, ours: Project) -> None:
    run = unreported(ours)
    load.reported(ours, 0.5)
    refused = alice.post(f"runs/{run.pk}/ignore-load")
    assert refused.status_code == 409
    assert "nothing waits for a report" in refused.json()["detail"]
    assert Load.objects.get().level == 0.5
    assert not AuditEntry.objects.filter(action__startswith="went on").exists()


def test_the_database_refuses_what_is_no_load(ours: Project) -> None:
    load.reported(ours, 0.5)
    for wrong in ({"level": 1.01}, {"level": -0.01}, {"safe_rate": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Load.objects.update(**wrong)
