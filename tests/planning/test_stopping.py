"""One of a series is cancelled and the next takes its place; a stop ends all of it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from campaigns import control
from campaigns.engine import engine
from campaigns.planning import moving
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.staff.audit import AuditEntry
from tests.given.series import DAY, launch, runs


def test_cancelling_the_one_that_waits_leaves_out_that_one_alone(
    series: Campaign, first: datetime
) -> None:
    tomorrows = launch(series)
    control.cancel(tomorrows, by="user:bob")
    assert runs() == [(first, "cancelled"), (first + DAY, "scheduled")]
    assert tomorrows.detail == "Left out by bob; the series went on."
    for hours in (0, 0, 2, 24, 24):
        engine.sweep(first + timedelta(hours=hours))
    assert runs() == [
        (first, "cancelled"), (first + DAY, "preparing"), (first + 2 * DAY, "scheduled"),
    ]  # fmt: skip
    with pytest.raises(Campaign.AlreadyLaunched):
        launch(series)


def test_one_that_was_paused_is_left_out_like_any_other(series: Campaign, first: datetime) -> None:
    run = launch(series)
    control.pause(run, by="user:alice")
    control.cancel(run, by="user:bob")
    assert runs() == [(first, "cancelled"), (first + DAY, "scheduled")]
    assert (run.cause, run.detail) == ("", "Left out by bob; the series went on.")


def test_cancelling_one_that_sends_says_nothing_of_the_series(
    series: Campaign, first: datetime
) -> None:
    run = launch(series)
    engine.sweep(first)
    engine.advance(run.pk, now=first)
    control.cancel(Run.objects.get(pk=run.pk), by="user:bob")
    assert runs() == [(first, "cancelled"), (first + DAY, "scheduled")]
    assert Run.objects.get(pk=run.pk).detail_code == ""


def test_cancelling_the_last_of_all_ends_the_series(series: Campaign, first: datetime) -> None:
    Campaign.objects.update(until=first)
    control.cancel(launch(Campaign.objects.get()), by="user:bob")
    engine.sweep(first)
    assert runs() == [(first, "cancelled")]
    assert launch(Campaign.objects.get()).scheduled_at == first, "it may be launched again"


def test_a_series_whose_waiting_run_was_cancelled_stays_stopped(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    Run.objects.update(state="cancelled", finished_at=first)
    engine.sweep(first + DAY)
    assert runs() == [(first, "cancelled")]
    with pytest.raises(Run.InvalidMove, match="nothing repeats"):
        control.stop(series, by="user:alice")
    assert launch(series).scheduled_at == first


def test_stopping_leaves_what_is_sending_and_cancels_all_that_wait(
    series: Campaign, first: datetime
) -> None:
    todays = launch(series)
    engine.sweep(first)
    engine.advance(todays.pk, now=first)
    control.pause(Run.objects.get(scheduled_at=first + DAY), by="user:bob")
    engine.sweep(first + DAY)
    assert [state for _, state in runs()] == ["sending", "paused", "scheduled"]

    last = control.stop(series, by="user:alice")

    assert [state for _, state in runs()] == ["sending", "cancelled", "cancelled"]
    assert last == Run.objects.latest("scheduled_at") and last.series_stopped_at is not None
    engine.sweep(first + 3 * DAY)
    assert len(runs()) == 3
    entry = AuditEntry.objects.get(action="stopped the series of")
    assert (entry.actor, entry.about) == ("user:alice", "campaign Daily")


def test_a_series_is_stopped_in_the_moment_in_which_nothing_waits(
    series: Campaign, first: datetime
) -> None:
    """Between the last run's start and the sweep that makes the next."""
    run = launch(series)
    run.move_to(Run.State.PREPARING)
    assert control.stop(series, by="user:alice") == run
    engine.sweep(first + DAY)
    assert runs() == [(first, "preparing")]
    assert launch(series, first + DAY).scheduled_at == first + 2 * DAY


def test_an_occurrence_that_was_sent_ahead_of_its_time_is_not_launched_again(
    series: Campaign, first: datetime
) -> None:
    run = launch(series)
    early = first - timedelta(hours=1)
    moving.move(run, to=early, was=first, by="user:alice", now=early - timedelta(hours=1))
    engine.sweep(early)
    control.stop(series, by="user:alice")
    assert launch(series, early).scheduled_at == first + DAY


def test_stopping_cancels_what_waits_and_launching_again_takes_it_up(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    control.stop(series, by="user:alice")
    engine.sweep(first + DAY)
    assert [state for _, state in runs()] == ["cancelled"]
    with pytest.raises(Run.InvalidMove):
        control.stop(series, by="user:alice")
    assert launch(series, first + DAY).scheduled_at == first + 2 * DAY


def test_a_stopped_series_that_is_launched_for_an_earlier_time_goes_on(
    series: Campaign, first: datetime
) -> None:
    """The run that was stopped was due later than all that follow."""
    Campaign.objects.update(at=first + 30 * DAY)
    series.refresh_from_db()
    launch(series)
    control.stop(series, by="user:alice")
    Campaign.objects.update(at=first)
    series.refresh_from_db()

    run = launch(series)

    assert series.series == run
    with pytest.raises(Campaign.AlreadyLaunched):
        launch(series)
    engine.sweep(first + timedelta(minutes=1))
    waiting = Run.objects.filter(state="scheduled").values_list("scheduled_at", flat=True)
    assert list(waiting) == [first + DAY], "the next one is planned"
    Run.objects.filter(pk=run.pk).update(state="finished", finished_at=first)
    control.stop(series, by="user:alice")
    assert not Run.objects.filter(state="scheduled").exists()
