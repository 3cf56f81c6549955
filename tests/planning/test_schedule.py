"""A scheduled run starts when due, once, and asks a person when it is late."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_people, make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def due_at() -> datetime:
    return timezone.now() + timedelta(hours=2)


@pytest.fixture
def run(due_at: datetime) -> Run:
    project: Project = make_project()
    make_people(project, 1)
    campaign = make_campaign(project, schedule_kind="at", at=due_at, max_lateness_seconds=900)
    return control.launch(campaign, by="user:alice", now=timezone.now())


def state_after_sweep(run: Run, now: datetime) -> str:
    engine.sweep(now)
    run.refresh_from_db()
    return run.state


def test_it_waits_until_it_is_due(run: Run, due_at: datetime) -> None:
    assert state_after_sweep(run, due_at - timedelta(seconds=1)) == "scheduled"
    assert state_after_sweep(run, due_at) == "preparing"


def test_a_second_sweep_starts_nothing_again(run: Run, due_at: datetime) -> None:
    engine.sweep(due_at)
    engine.advance(run.pk, now=due_at)
    assert state_after_sweep(run, due_at) == "sending"
    assert Run.objects.count() == 1


def test_within_its_lateness_it_still_starts(run: Run, due_at: datetime) -> None:
    assert state_after_sweep(run, due_at + timedelta(minutes=15)) == "preparing"


def test_later_than_that_it_asks_a_person_and_sends_nothing(run: Run, due_at: datetime) -> None:
    assert state_after_sweep(run, due_at + timedelta(hours=3)) == "paused"
    assert run.cause == "late"
    assert (run.detail_code, run.detail_args) == ("late", {"minutes": 180})
    assert run.planned is None


def test_a_late_run_that_a_person_resumes_is_sent(run: Run) -> None:
    now = timezone.now()
    Run.objects.update(scheduled_at=now - timedelta(hours=3))
    engine.sweep(now)
    run.refresh_from_db()
    assert run.cause == "late"
    control.resume(run, by="user:alice")

    engine.advance(run.pk, now=now)

    run.refresh_from_db()
    assert (run.state, run.planned, run.cause) == ("sending", 1, "")


def test_paused_and_resumed_before_its_time_it_goes_on_waiting(run: Run, due_at: datetime) -> None:
    control.pause(run, by="user:alice")
    control.resume(run, by="user:alice")

    assert run.state == "scheduled"
    assert state_after_sweep(run, due_at - timedelta(seconds=1)) == "scheduled"
    assert state_after_sweep(run, due_at) == "preparing"


def test_a_preparation_that_cannot_work_pauses_and_says_why(run: Run, due_at: datetime) -> None:
    engine.sweep(due_at)
    Run.objects.update(rules={"field": "attributes.age", "op": "gt", "value": "not a number"})

    tasks.advance(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "broken")
    assert run.detail_code == "rules_broken"
    assert "rules.value: must be a number" in str(run.detail_args)


@pytest.mark.parametrize("language", ["", "ko"])
def test_a_run_whose_text_breaks_a_later_cap_pauses_instead_of_skipping_everybody(
    run: Run, due_at: datetime, language: str
) -> None:
    engine.sweep(due_at)
    body = "{% if locale == 'ko' %}A{% endif %}" * 51 + "Hello"
    texts = {"locales": {language: {"body": body}}} if language else {"body": body}
    Run.objects.update(content={**run.content, **texts})

    tasks.advance(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "broken")
    assert run.detail_code == "text_broken" and "at most 100 tags" in str(run.detail_args)
    assert not Delivery.objects.filter(run_id=run.pk).exists()
