"""The busiest minute of a day, of the quota that FCM gives a project."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from campaigns.figures import quota
from campaigns.runs.ledger import Window
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_people, make_project, make_run

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def run() -> Run:
    project = make_project(quota_per_minute=1_000)
    make_people(project, 1)
    return make_run(project)


def asked(run: Run, at: datetime, requests: int) -> None:
    Window.objects.create(
        run=run, chunk=run.chunks.get(), attempt=1, seqs=list(range(requests)), opened_at=at
    )


def busiest(project: Project) -> tuple[int, str, datetime | None] | None:
    found = quota.busiest(project, MIDNIGHT)
    return (found.used, found.share, found.at) if found else None


def test_the_windows_of_a_minute_count_together(run: Run) -> None:
    minute = NOON.replace(second=0) - timedelta(minutes=5)
    for second in (1, 59):
        asked(run, minute + timedelta(seconds=second), 150)
    asked(run, minute + timedelta(seconds=61), 200)
    quota.keep_busiest(NOON)
    assert busiest(run.project) == (300, "30", minute)


def test_a_later_minute_that_was_less_busy_does_not_hide_it(run: Run) -> None:
    asked(run, NOON - timedelta(hours=2), 500)
    quota.keep_busiest(NOON - timedelta(hours=2) + timedelta(minutes=5))
    asked(run, NOON - timedelta(minutes=5), 100)
    quota.keep_busiest(NOON)
    found = busiest(run.project)
    assert found is not None and found[0] == 500


def test_what_was_before_midnight_is_of_another_day(run: Run) -> None:
    asked(run, MIDNIGHT - timedelta(minutes=5), 500)
    quota.keep_busiest(MIDNIGHT + timedelta(minutes=5))
    assert busiest(run.project) is None


def test_messages_to_single_people_use_the_quota_too(run: Run) -> None:
    began = NOON - timedelta(hours=3)
    Run.objects.update(kind="messages", state="open", finished_at=began, started_at=began)
    asked(run, NOON - timedelta(seconds=10), 80)
    assert [found.used for found in quota.quotas([run.project], NOON)] == [80]
    quota.keep_busiest(NOON)
    assert busiest(run.project) is not None


def test_only_the_newest_windows_are_looked_at(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "MAX_A_MINUTE", 1)
    for _ in range(3):
        asked(run, NOON - timedelta(seconds=10), 80)
    assert [found.used for found in quota.quotas([run.project], NOON)] == [80]
