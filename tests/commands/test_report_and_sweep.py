"""report says what a run came to and whether its rows agree; sweep is beat's tick by hand."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from config.celery import app
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_people, make_project, make_run


@pytest.fixture
def cancelled(db: None) -> Run:
    project = make_project()
    make_people(project, 1_234)
    run = make_run(project)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    return run


def report(*arguments: str) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_a_report_has_the_totals_and_the_reasons_in_plain_words(cancelled: Run) -> None:
    text = report(str(cancelled.pk))
    assert f"run {cancelled.pk}" in text
    assert "Cancelled" in text
    assert "1,234  The run was cancelled first" in text
    assert "The totals agree with the rows." in text


def test_totals_that_differ_from_the_rows_are_said_loudly(cancelled: Run) -> None:
    Chunk.objects.filter(number=1).update(skipped=999, unknown=1)
    assert "do NOT agree" in report(str(cancelled.pk))


def test_as_json_it_is_what_the_api_says(cancelled: Run) -> None:
    shown = Caller(Project.objects.get()).get(f"runs/{cancelled.pk}").json()
    assert json.loads(report(str(cancelled.pk), "--json")) == shown


def test_a_run_that_is_not_there_is_said(db: None) -> None:
    with pytest.raises(CommandError, match="no run 7"):
        report("7")


def test_one_sweep_starts_what_is_due_and_records_the_tick(
    db: None, settings: LazySettings
) -> None:
    run = make_run(make_project(), advanced=False)
    due = timezone.now() - timedelta(minutes=1)
    Run.objects.update(state=Run.State.SCHEDULED, scheduled_at=due)
    app.conf.task_always_eager = True
    try:
        call_command("sweep", "--once")
    finally:
        app.conf.task_always_eager = False
    run.refresh_from_db()
    assert run.state == "sending" or run.finished_at
    assert Tick.objects.exists()
