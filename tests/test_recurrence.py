"""A campaign that repeats: when it is due, which run is made, and what ends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from campaigns import control, details, engine, moving, schedule
from campaigns.campaign import Campaign
from campaigns.rhythm import Rhythm
from campaigns.run import Run
from notifications.audit import AuditEntry
from tests.builders import make_campaign, make_people, make_project

DAY = timedelta(days=1)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days(first: str, repeat: str, zone: str, count: int, **more: Any) -> list[str]:
    """The local times of the first few."""
    place = ZoneInfo(zone)
    start = datetime.fromisoformat(first).replace(tzinfo=place)
    found = Rhythm(start.astimezone(UTC), repeat, zone, **more).after(start - DAY)
    return [f"{at.astimezone(place):%m-%d %H:%M}" for at in islice(found, count)]


# --- When -----------------------------------------------------------------------------------------


def test_every_day_week_and_month_keep_the_clock_of_their_zone() -> None:
    seoul = "2027-01-30T09:00", "Asia/Seoul"
    assert days(seoul[0], "daily", seoul[1], 3) == ["01-30 09:00", "01-31 09:00", "02-01 09:00"]
    assert days(seoul[0], "weekly", seoul[1], 3) == ["01-30 09:00", "02-06 09:00", "02-13 09:00"]


def test_the_31st_is_the_last_day_of_a_shorter_month() -> None:
    zone = "Europe/Berlin"
    assert days("2027-01-31T10:00", "monthly", zone, 4) == [
        "01-31 10:00", "02-28 10:00", "03-31 10:00", "04-30 10:00",
    ]  # fmt: skip
    assert days("2027-01-29T10:00", "monthly", zone, 3) == [
        "01-29 10:00", "02-28 10:00", "03-29 10:00",
    ]  # fmt: skip


def test_summer_time_moves_the_instant_and_not_the_clock() -> None:
    first = moment("2027-03-27T08:00")  # 09:00 in Berlin
    found = list(islice(Rhythm(first, "daily", "Europe/Berlin").after(first), 2))
    assert found == [moment("2027-03-28T07:00"), moment("2027-03-29T07:00")]


def test_an_hour_that_is_skipped_or_doubled_makes_one_occurrence() -> None:
    zone = "Europe/Berlin"
    assert days("2027-03-27T02:30", "daily", zone, 3) == [
        "03-27 02:30", "03-28 03:00", "03-29 02:30",
    ]  # fmt: skip
    assert days("2027-10-30T02:30", "daily", zone, 3) == [
        "10-30 02:30", "10-31 02:30", "11-01 02:30",
    ]  # fmt: skip


def test_an_hour_that_is_skipped_at_midnight_gives_the_next_midnight() -> None:
    """Nuuk's clocks go from 23:00 on a Saturday to midnight: 23:30 is not shown that day."""
    nuuk = "America/Nuuk"
    assert days("2026-01-28T23:30", "monthly", nuuk, 4) == [
        "01-28 23:30", "02-28 23:30", "03-29 00:00", "04-28 23:30",
    ]  # fmt: skip
    assert days("2026-03-21T23:30", "weekly", nuuk, 3) == [
        "03-21 23:30", "03-29 00:00", "04-04 23:30",
    ]  # fmt: skip
    assert days("2026-03-27T23:30", "daily", nuuk, 4) == [
        "03-27 23:30", "03-29 00:00", "03-29 23:30", "03-30 23:30",
    ]  # fmt: skip


def test_asked_in_the_second_of_two_equal_hours_the_answer_is_tomorrow() -> None:
    first = moment("2027-10-30T00:30")  # 02:30 in Berlin
    second_of_two = moment("2027-10-31T01:10")  # 02:10 again; 02:30 has been
    following = Rhythm(first, "daily", "Europe/Berlin").next_after(second_of_two)
    assert following == moment("2027-11-01T01:30")


def test_nothing_follows_the_end() -> None:
    first = moment("2027-01-01T09:00")
    rhythm = Rhythm(first, "daily", "UTC", until=first + 2 * DAY)
    assert len(list(rhythm.after(first - DAY))) == 3
    assert rhythm.next_after(first + 2 * DAY) is None


# --- Which run ------------------------------------------------------------------------------------


@pytest.fixture
def first(db: None) -> datetime:
    return (timezone.now() + timedelta(hours=2)).replace(second=0, microsecond=0)


@pytest.fixture
def series(first: datetime) -> Campaign:
    project = make_project()
    make_people(project, 2)
    return make_campaign(
        project, name="Daily", schedule_kind="recurring", repeat="daily", at=first, timezone="UTC"
    )


def launch(campaign: Campaign, now: datetime | None = None) -> Run:
    return control.launch(campaign, by="user:alice", now=now or timezone.now())


def runs() -> list[tuple[datetime, str]]:
    return list(Run.objects.order_by("scheduled_at").values_list("scheduled_at", "state"))


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
    assert skipped.cause_detail == details.LEFT_OUT.format(run=run.pk)
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
    assert Run.objects.get(pk=run.pk).cause_detail == ""


def test_cancelling_the_last_of_all_ends_the_series(series: Campaign, first: datetime) -> None:
    Campaign.objects.update(until=first)
    control.cancel(launch(Campaign.objects.get()), by="user:bob")
    engine.sweep(first)
    assert runs() == [(first, "cancelled")]
    assert launch(Campaign.objects.get()).scheduled_at == first, "it may be launched again"


def test_what_the_release_before_stopped_stays_stopped(series: Campaign, first: datetime) -> None:
    """It has no other word for it than cancelling the run that waits."""
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
    assert (entry.actor, entry.subject) == ("user:alice", "campaign Daily")


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
    with pytest.raises(Campaign.NotReady, match="says nothing yet"):
        launch(empty)
