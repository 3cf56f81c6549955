"""What is wrong becomes an alert, and what is only nearly so does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import control
from campaigns.alerts.models import Alert, Kind, open_alerts
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Retry, Window
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown
from notifications.people import figures
from notifications.people.figures import DEAD, midnight
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.alerts import change, ended_with, look, look_again, paused_by_itself, worked_on
from tests.given.builders import make_people, make_project, make_run
from tests.given.runs import ended

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def standing() -> list[tuple[str, int | None]]:
    return list(open_alerts().order_by("pk").values_list("kind", "run"))


def numbers() -> dict[str, Any]:
    return dict(open_alerts().get().numbers)


# --- Paused ---------------------------------------------------------------------------------------


def test_a_run_that_stopped_by_itself_is_one_and_a_resumed_one_is_not(project: Project) -> None:
    make_people(project, 1)
    run = paused_by_itself(project)
    look()
    assert standing() == [(Kind.PAUSED, run.pk)]
    assert numbers()["cause"] == Cause.BAD_CREDENTIALS
    control.resume(run, by="user:ada")
    look_again()
    assert standing() == []
    assert Alert.objects.get().ended_at


def test_a_pause_by_hand_is_one_after_an_hour(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    control.pause(run, by="user:ada")
    look()
    assert standing() == []
    look_again(timezone.now() + HOUR + MINUTE)
    assert standing() == [(Kind.PAUSED, run.pk)]


def test_a_pause_by_hand_that_was_resumed_meanwhile_begins_anew(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    control.pause(run, by="user:ada")
    first = AuditEntry.objects.latest("pk").at
    control.resume(run, by="user:ada")
    control.pause(run, by="user:ada")
    look_again(first + HOUR)
    assert standing() == []


def test_a_day_of_messages_of_which_none_leaves_is_one(project: Project) -> None:
    now = timezone.now()
    make_people(project, 1)
    day = change(
        make_run(project, advanced=False), kind="messages", campaign=None, state="open",
        planned=1, started_at=now,
    )  # fmt: skip
    look()
    assert standing() == []
    change(day, cause=Cause.BAD_CREDENTIALS)
    look_again()
    assert standing() == [(Kind.PAUSED, day.pk)]


# --- Stuck and slow -------------------------------------------------------------------------------


def test_a_run_that_made_no_request_for_five_minutes_is_stuck(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    now = timezone.now()
    run.chunks.update(queued_at=now - 6 * MINUTE)
    change(run, started_at=now - 4 * MINUTE, scheduled_at=now - 6 * MINUTE)
    look(now)
    assert standing() == [], "it may be between two waves"
    look_again(now + 2 * MINUTE)
    assert standing() == [(Kind.STUCK, run.pk)]

    requested(run, 1, now + 2 * MINUTE)
    look_again(now + 3 * MINUTE)
    assert standing() == [(Kind.STUCK, run.pk)], "one request does not yet make it move"
    look_again(now + 5 * MINUTE)
    assert standing() == []


def requested(run: Run, count: int, at: Any) -> None:
    chunk = run.chunks.get()
    Window.objects.create(run=run, chunk=chunk, attempt=1, seqs=list(range(count)), opened_at=at)


def sending_for(run: Run, began: timedelta, *, planned: int, accepted: int = 0) -> Run:
    run.chunks.update(state=Chunk.State.LEASED, lease_until=timezone.now() + HOUR)
    at = timezone.now() - began
    return change(
        run, state="sending", planned=planned, accepted=accepted, started_at=at, scheduled_at=at
    )


@pytest.mark.parametrize(("requests", "slow"), [(100, True), (6_000, False)])
def test_a_run_that_would_not_end_in_time_is_too_slow(
    project: Project, requests: int, slow: bool
) -> None:
    make_people(project, 1)
    run = sending_for(make_run(project), 15 * MINUTE, planned=10_000)
    change(run, ttl_seconds=3_600)
    requested(run, 5_000, timezone.now() - 12 * MINUTE)  # that was before
    requested(run, requests, timezone.now() - 5 * MINUTE)
    look()
    assert standing() == ([(Kind.SLOW, run.pk)] if slow else [])
    if slow:
        assert (numbers()["waiting"], numbers()["rate"], numbers()["needed"]) == (10_000, 0.2, 3.7)


def test_one_that_has_just_begun_or_has_few_left_is_not_too_slow(project: Project) -> None:
    make_people(project, 1)
    for began, waiting in ((5 * MINUTE, 10_000), (30 * MINUTE, 99)):
        run = sending_for(make_run(project), began, planned=20_000, accepted=20_000 - waiting)
        change(run, ttl_seconds=3_600)
    look()
    assert standing() == []


def test_a_run_whose_people_sleep_is_not_too_slow(project: Project) -> None:
    make_people(project, 1)
    run = sending_for(make_run(project), 15 * MINUTE, planned=200)
    change(run, ttl_seconds=3_600)
    look()
    assert standing() == [(Kind.SLOW, run.pk)]
    Alert.objects.all().delete()
    wakes_at = timezone.now() + 30 * MINUTE
    Retry.objects.bulk_create(
        Retry(
            run=run, seq=seq, chunk=run.chunks.get(), tries=0, reason="quiet_hours",
            not_before=wakes_at, first_tried_at=wakes_at,
        )
        for seq in range(1, 151)
    )  # fmt: skip
    look()
    assert standing() == []


# --- Rejected -------------------------------------------------------------------------------------


@pytest.fixture
def usual(project: Project) -> Project:
    """5 % of each run are rejected."""
    for number in range(4):
        ended_with(project, accepted=950, rejected=50, name=f"Before {number}")
    Run.objects.update(finished_at=timezone.now() - 3 * DAY)
    return project


@pytest.mark.parametrize(
    ("accepted", "rejected", "unusual"),
    [(880, 120, True), (900, 100, False), (700, 200, False), (940, 60, False)],
    ids=["more than double", "just double", "too few", "as usual"],
)
def test_more_than_double_the_usual_share_rejected_is_unusual(
    usual: Project, accepted: int, rejected: int, unusual: bool
) -> None:
    run = ended_with(usual, accepted=accepted, rejected=rejected)
    look()
    assert standing() == ([(Kind.REJECTED, run.pk)] if unusual else [])
    if unusual:
        assert (numbers()["percent"], numbers()["usual_percent"]) == (12.0, 5.0)
        look_again(timezone.now() + DAY)
        assert standing() == [], "the next day it is no news"


def test_a_share_of_some_points_is_not_unusual_however_small_the_usual_one(
    project: Project,
) -> None:
    for _ in range(4):
        ended_with(project, accepted=1_000)
    ended_with(project, accepted=9_500, rejected=500)
    look()
    assert standing() == []


def test_where_nobody_knows_what_is_usual_nothing_is_unusual(project: Project) -> None:
    other = make_project(slug="other")
    for _ in range(4):
        ended_with(other, accepted=1_000)
    for _ in range(2):
        ended_with(project, accepted=1_000)
    ended_with(project, accepted=500, rejected=500)
    look()
    assert standing() == []


# --- Dead addresses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "today", "unusual"),
    [
        ([40, 0, 60, 0, 50], 101, True),
        ([40, 0, 60, 0, 50], 99, False),
        ([60, 0, 60, 0, 60], 120, False),
        ([40, 0, 60, 0, 0], 900, False),
    ],
    ids=["more than double", "few", "just double", "nothing is usual"],
)
def test_more_dead_addresses_than_usual_are_told(
    project: Project, before: list[int], today: int, unusual: bool
) -> None:
    now = timezone.now()
    first = midnight(project.timezone, now)
    counts = {first - (number + 1) * DAY: count for number, count in enumerate(before)}
    figures.keep(project.pk, DEAD, {**counts, first: today}, now)
    look(now)
    assert standing() == ([(Kind.DEAD_ADDRESSES, None)] if unusual else [])
    if unusual:
        assert numbers() == {"count": 101, "usual": 50}
        look_again(now + DAY)
        assert standing() == [], "that was yesterday"


# --- Quota ----------------------------------------------------------------------------------------


def test_over_ninety_percent_of_the_quota_is_told_and_calm_for_ten_minutes_is_over(
    project: Project,
) -> None:
    Project.objects.update(quota_per_minute=1_000)
    make_people(project, 1)
    run, now = worked_on(make_run(project)), timezone.now()
    requested(run, 900, now)
    look(now)
    assert standing() == []
    requested(run, 1, now)
    look_again(now)
    assert standing() == [(Kind.QUOTA, None)]
    assert numbers() == {"used": 901, "quota": 1_000}
    look_again(now + 9 * MINUTE)
    assert standing() == [(Kind.QUOTA, None)]
    look_again(now + 10 * MINUTE)
    assert standing() == []


def test_projects_that_are_one_at_firebase_count_together(project: Project) -> None:
    twin = make_project(slug="twin")
    Project.objects.update(quota_per_minute=1_000)
    now = timezone.now()
    for each in (project, twin):
        make_people(each, 1)
        requested(make_run(each), 500, now)
    look(now)
    assert set(open_alerts().values_list("project", flat=True)) == {project.pk, twin.pk}


# --- Opened by nobody -----------------------------------------------------------------------------


def told_by_a_hundred(project: Project) -> Run:
    """All of whom told once that they opened something, and now nothing."""
    Project.objects.update(asks_receipts=True)
    make_people(project, 100)
    before = ended(make_run(project, name="Before"))
    keep(Report(before.pk, seq, Event.OPENED, None) for seq in range(1, 101))
    run = ended(make_run(project, name="Spring"))
    for _ in range(3):
        engine.advance(run.pk, now=timezone.now())
    assert Breakdown.objects.filter(run=run).exists()
    return run


def test_a_run_that_nobody_opened_within_an_hour_is_told_until_somebody_does(
    project: Project,
) -> None:
    run = told_by_a_hundred(project)
    look()
    assert standing() == [], "it has only just begun"
    later = timezone.now() + HOUR
    look_again(later)
    assert standing() == [(Kind.UNOPENED, run.pk)]
    assert numbers() == {"accepted": 100, "able": 100}
    keep([Report(run.pk, 7, Event.OPENED, None)])
    look_again(later + MINUTE)
    assert standing() == []


def test_where_receipts_are_not_asked_for_nobody_can_open_anything(project: Project) -> None:
    told_by_a_hundred(project)
    Project.objects.update(asks_receipts=False)
    look_again(timezone.now() + HOUR)
    assert standing() == []


# --- All of them ----------------------------------------------------------------------------------


def test_a_look_asks_no_more_for_ten_runs_than_for_two_and_reads_no_recipients(
    project: Project,
) -> None:
    """Of runs that are well: what is wrong costs some statements each."""
    make_people(project, 1)
    look()
    asked = []
    for count in (2, 8):
        for _ in range(count):
            ended_with(project, accepted=990, rejected=10)
        with CaptureQueriesContext(connection) as found:
            look_again()
        asked.append(len(found))
    assert asked[0] == asked[1]
    tables = ("campaigns_recipient", "campaigns_delivery", "notifications_device")
    assert not any(table in one["sql"] for one in found for table in tables)


def test_a_kind_that_cannot_be_looked_for_silences_no_other(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what stands of it goes on standing: nobody knows that it is over."""
    make_people(project, 1)
    run = paused_by_itself(project)
    look()
    monkeypatch.setattr("campaigns.alerts.conditions.audit.entries_of", lambda run: 1 / 0)
    control.resume(run, by="user:ada")
    control.pause(run, by="user:ada")
    stuck = make_run(project)
    stuck.chunks.update(queued_at=timezone.now() - HOUR)
    change(stuck, started_at=timezone.now() - HOUR, scheduled_at=timezone.now() - HOUR)
    look_again()
    assert standing() == [(Kind.PAUSED, run.pk), (Kind.STUCK, stuck.pk)]
