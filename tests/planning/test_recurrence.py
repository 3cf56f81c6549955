"""A campaign that repeats: which run is made of it, and when none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from campaigns import control, tasks
from campaigns.engine import engine
from campaigns.planning import moving, schedule
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.runs.series import left_out
from campaigns.runs.tick import Tick
from notifications.postgres import clock
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_campaign, make_people, make_project
from tests.given.series import DAY, launch, runs


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_launch_makes_the_first_run_and_the_next_follows_when_it_is_due(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    engine.sweep(first - timedelta(minutes=1))
    assert runs() == [(first, "scheduled")]
    engine.sweep(first)
    engine.sweep(first)
    assert runs() == [(first, "preparing"), (first + DAY, "scheduled")]


def test_a_first_time_that_has_passed_is_left_and_the_next_one_taken(
    series: Campaign, first: datetime
) -> None:
    assert launch(series, first + timedelta(hours=1)).scheduled_at == first + DAY


def test_later_runs_send_what_was_launched_whatever_was_edited_since(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    series.template.title = "Something nobody reviewed"
    series.template.save()
    Campaign.objects.update(rate_per_second=1)
    engine.sweep(first)
    following = Run.objects.get(scheduled_at=first + DAY)
    assert following.content["title"] == "Hello {{ first_name }}"
    assert (following.rate_per_second, following.launched_by) == (None, "user:alice")


def test_while_one_is_still_going_the_next_is_left_out_and_the_series_goes_on(
    series: Campaign, first: datetime
) -> None:
    run = launch(series)
    engine.sweep(first)
    engine.advance(run.pk, now=first)
    engine.sweep(first + DAY)
    skipped = Run.objects.get(scheduled_at=first + DAY)
    assert skipped.state == "cancelled" and skipped.planned is None
    assert (skipped.detail_code, skipped.detail_args) == ("left_out", {"run": run.pk})
    assert runs()[-1] == (first + 2 * DAY, "scheduled")
    engine.sweep(first + 2 * DAY)
    assert runs()[-1] == (first + 3 * DAY, "scheduled")


def test_after_days_of_standing_still_one_asks_and_the_rest_are_left_out(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    engine.sweep(first + 3 * DAY + timedelta(hours=1))
    assert runs() == [(first, "paused"), (first + 4 * DAY, "scheduled")]
    entry = AuditEntry.objects.get(action="left out")
    assert entry.detail["occurrences"] == 3


@pytest.mark.parametrize("ran", [True, False])
def test_the_last_one_asks_when_nobody_was_there_until_after_the_end(
    series: Campaign, first: datetime, ran: bool
) -> None:
    """The one before it may have been sent in time, a moment before the system went down."""
    Campaign.objects.update(until=first + 3 * DAY + timedelta(hours=1))
    run = launch(Campaign.objects.get())
    Tick.record(first)
    if ran:
        schedule.start_due(first)
        engine.advance(run.pk, now=first)
        Run.objects.filter(pk=run.pk).update(state="cancelled", finished_at=first)

    for hours in (0, 1, 30):
        engine.sweep(first + 9 * DAY + timedelta(hours=hours))
        Tick.record(first + 9 * DAY + timedelta(hours=hours))

    last = first + 3 * DAY
    assert runs() == [(first, "cancelled"), (last, "paused")]
    run.refresh_from_db()
    newest = Run.objects.get(scheduled_at=last)
    why = ("", None) if ran else ("left_out_for", {"run": newest.pk})
    assert (run.detail_code, run.detail_args) == why
    entry = AuditEntry.objects.get(action="left out")
    assert entry.detail["occurrences"] == 2, "those between"


@pytest.mark.parametrize("late_start", [False, True])
def test_of_two_that_were_missed_until_after_the_end_only_the_newest_asks(
    series: Campaign, first: datetime, monkeypatch: pytest.MonkeyPatch, late_start: bool
) -> None:
    """Also if Celery delivers the task that should have started the older one before a sweep."""
    second, third = first + DAY, first + 2 * DAY
    Campaign.objects.update(until=third + timedelta(hours=1))
    run = launch(Campaign.objects.get())
    engine.sweep(first)
    Run.objects.filter(pk=run.pk).update(state="finished", finished_at=first)
    Tick.record(first)

    if late_start:
        monkeypatch.setattr(clock, "now", lambda: third + DAY)
        tasks.start()
    for minutes in (0, 1, 90):
        back = third + DAY + timedelta(minutes=minutes)
        engine.sweep(back)
        Tick.record(back)

    assert runs() == [(first, "finished"), (second, "cancelled"), (third, "paused")]
    older, newest = Run.objects.get(scheduled_at=second), Run.objects.get(scheduled_at=third)
    assert older.detail == f"Left out: run {newest.pk}, which is newer, was missed as well."
    assert (older.cause, left_out(older)) == ("", True)
    assert (newest.cause, newest.detail) == ("late", "It was due 24 h ago.")
    assert not AuditEntry.objects.filter(action="left out").exists(), "none without a run"


def test_the_newest_that_was_missed_is_left_out_while_an_earlier_one_is_going(
    series: Campaign, first: datetime
) -> None:
    Campaign.objects.update(until=first + 2 * DAY + timedelta(hours=1))
    run = launch(Campaign.objects.get())
    engine.sweep(first)
    engine.advance(run.pk, now=first)
    Tick.record(first)
    engine.sweep(first + 3 * DAY)
    second, third = Run.objects.exclude(pk=run.pk).order_by("scheduled_at")
    assert [second.state, third.state] == ["cancelled", "cancelled"]
    assert (second.detail_code, second.detail_args) == ("left_out_for", {"run": third.pk})
    assert (third.detail_code, third.detail_args) == ("left_out", {"run": run.pk})


def test_what_a_paused_series_missed_until_after_its_end_says_that_it_was_paused(
    series: Campaign, first: datetime
) -> None:
    Campaign.objects.update(until=first + DAY + timedelta(hours=1))
    launch(Campaign.objects.get())
    Campaign.objects.update(series_paused_at=first - DAY)
    Tick.record(first - timedelta(minutes=1))
    engine.sweep(first + 2 * DAY)
    assert [state for _, state in runs()] == ["cancelled", "cancelled"]
    assert {*Run.objects.values_list("detail_code", flat=True)} == {"series_paused"}


def test_the_last_run_before_the_end_is_the_last(series: Campaign, first: datetime) -> None:
    Campaign.objects.update(until=first + DAY)
    launch(Campaign.objects.get())
    for day in range(4):
        engine.sweep(first + day * DAY)
    assert [at for at, _ in runs()] == [first, first + DAY]


def test_a_later_end_does_not_wake_a_series_up_that_has_ended(
    series: Campaign, first: datetime
) -> None:
    Campaign.objects.update(until=first)
    run = launch(Campaign.objects.get())
    for _ in range(2):  # starts, and finishes
        engine.sweep(first)
        engine.advance(run.pk, now=first)
    ended = Campaign.objects.get()
    ended.until = first + 9 * DAY
    with pytest.raises(ValidationError, match="Duplicate the campaign"):
        ended.clean()


def test_one_that_was_moved_is_followed_by_the_one_after_its_own_time(
    series: Campaign, first: datetime
) -> None:
    run = launch(series)
    early = first - timedelta(hours=3)
    moving.move(run, to=early, was=first, by="user:alice", now=early - DAY)
    engine.sweep(early)
    assert runs() == [(early, "preparing"), (first + DAY, "scheduled")]


def test_a_series_is_launched_once(series: Campaign, first: datetime) -> None:
    run = launch(series)
    with pytest.raises(Campaign.AlreadyLaunched) as refused:
        launch(series)
    assert refused.value.run == run


def test_an_archived_series_makes_no_further_run(series: Campaign, first: datetime) -> None:
    launch(series)
    Campaign.objects.update(archived_at=first)
    schedule.plan_series(first)
    assert len(runs()) == 1


def test_one_series_that_cannot_go_on_holds_up_no_other(series: Campaign, first: datetime) -> None:
    launch(series)
    broken = make_campaign(
        series.project, schedule_kind="recurring", repeat="daily", at=first, timezone="UTC"
    )
    launch(broken)
    Campaign.objects.filter(pk=broken.pk).update(timezone="Mars/Olympus")
    engine.sweep(first)
    assert Run.objects.filter(campaign=series, scheduled_at=first + DAY).exists()


# --- What cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"repeat": ""}, "repeat"), ({"at": None}, "at"), ({"until": moment("2020-01-01")}, "until")],
)
def test_a_rhythm_that_says_too_little_is_refused(
    series: Campaign, wrong: dict[str, Any], field: str
) -> None:
    for name, value in wrong.items():
        setattr(series, name, value)
    with pytest.raises(ValidationError) as refused:
        series.clean()
    assert list(refused.value.message_dict) == [field]


def test_the_times_of_a_launched_series_are_not_moved_by_an_edit(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    series.clean()
    series.at = first + timedelta(hours=1)
    with pytest.raises(ValidationError, match="Stop it first"):
        series.clean()
    control.stop(series, by="user:alice")
    series.clean()


def test_a_series_whose_end_has_passed_is_not_launched(series: Campaign, first: datetime) -> None:
    series.until = first
    with pytest.raises(Campaign.NotReady, match="end has passed"):
        launch(series, first + timedelta(minutes=1))


def test_a_text_that_says_nothing_is_not_launched(db: None) -> None:
    project = make_project()
    make_people(project, 1)
    empty = make_campaign(project, template={"title": "", "body": ""})
    with pytest.raises(Campaign.NotReady, match="The text is empty"):
        launch(empty)
