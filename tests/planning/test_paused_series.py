"""While a series is paused nothing of it starts; what comes due is left out and not made up for."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning import calendar
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller
from tests.given.series import DAY, launch, runs

BY = "user:alice"


def test_what_comes_due_is_left_out_until_the_series_goes_on(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    control.pause_series(series, by=BY)

    engine.sweep(first)
    engine.sweep(first + DAY)

    assert runs() == [
        (first, "cancelled"), (first + DAY, "cancelled"), (first + 2 * DAY, "scheduled"),
    ]  # fmt: skip
    assert Run.objects.earliest("pk").detail == "Left out: its series was paused."

    control.resume_series(series, by=BY)
    engine.sweep(first + 2 * DAY)

    assert [state for _, state in runs()] == ["cancelled", "cancelled", "preparing", "scheduled"]
    trail = AuditEntry.objects.filter(action__endswith="the series of").order_by("pk")
    assert [one.action for one in trail] == ["paused the series of", "resumed the series of"]


def test_a_run_that_has_begun_goes_on(series: Campaign, first: datetime) -> None:
    launch(series)
    engine.sweep(first)
    control.pause_series(series, by=BY)
    engine.sweep(first)
    assert runs() == [(first, "preparing"), (first + DAY, "scheduled")]


def test_what_comes_due_after_a_short_pause_is_sent(series: Campaign, first: datetime) -> None:
    launch(series)
    control.pause_series(series, by=BY)
    control.resume_series(series, by=BY)
    engine.sweep(first)
    assert runs() == [(first, "preparing"), (first + DAY, "scheduled")]


def test_it_is_paused_once_and_goes_on_once(series: Campaign) -> None:
    launch(series)
    with pytest.raises(Run.InvalidMove, match="is not paused"):
        control.resume_series(series, by=BY)
    control.pause_series(series, by=BY)
    with pytest.raises(Run.InvalidMove, match="is paused"):
        control.pause_series(series, by=BY)


def test_what_does_not_repeat_cannot_be_paused(series: Campaign) -> None:
    with pytest.raises(Run.InvalidMove, match="nothing repeats"):
        control.pause_series(series, by=BY)


def test_a_series_that_was_stopped_while_paused_begins_anew_when_launched(
    series: Campaign, first: datetime
) -> None:
    launch(series)
    control.pause_series(series, by=BY)
    control.stop(series, by=BY)
    launch(Campaign.objects.get())
    engine.sweep(first)
    assert [state for _, state in runs()] == ["cancelled", "preparing", "scheduled"]


def test_a_copy_of_a_paused_campaign_is_not_paused(series: Campaign) -> None:
    launch(series)
    assert control.pause_series(series, by=BY).duplicate().series_paused_at is None


def test_the_calendar_shows_what_will_be_left_out(series: Campaign, first: datetime) -> None:
    launch(series)
    control.pause_series(series, by=BY)
    until = first + timedelta(days=5)
    found = calendar.entries(Campaign.objects.all(), first, until, timezone.now())
    assert [(one.at, one.state, one.movable) for one in found] == [(first, "resting", False)]


def test_a_program_pauses_it_and_lets_it_go_on(series: Campaign) -> None:
    launch(series)
    call, place = Caller(series.project), f"campaigns/{series.pk}"
    assert call.get(place).json()["series_paused_at"] is None
    assert call.post(f"{place}/resume").status_code == 409
    told = call.post(f"{place}/pause")
    assert told.status_code == 200
    assert told.json()["series_paused_at"] is not None
    assert call.post(f"{place}/pause").status_code == 409
    assert call.post(f"{place}/resume").json()["series_paused_at"] is None
    assert call.post("campaigns/999999/pause").status_code == 404
