"""A series by each reader's clock: every day, week or month a run of its own around the earth."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns import control
from campaigns.engine import engine
from campaigns.forecast.other_runs import firebase_projects, planned_runs
from campaigns.planning import calendar, local, moving
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import moved_occurrences
from campaigns.runs.run import Run
from campaigns.runs.series import name_of
from campaigns.runs.tick import Tick
from notifications.people.project import Project
from notifications.values.zones import known_zones
from tests.given.builders import make_campaign, make_contact, make_device

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
ZONES = sorted(known_zones())
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def nine() -> datetime:
    """At nine in Berlin, the day after tomorrow."""
    day = timezone.now().astimezone(BERLIN).date() + 2 * DAY
    return datetime.combine(day, time(9), BERLIN).astimezone(UTC)


def daily(project: Project, at: datetime, **values: Any) -> Campaign:
    for zone in ("Asia/Seoul", "America/New_York"):
        make_device(make_contact(project, timezone=zone))
    asked = {"schedule_kind": "recurring", "repeat": "daily", "at": at, "local_time": True}
    return make_campaign(project, timezone="Europe/Berlin", **{**asked, **values})


def launch(campaign: Campaign, now: datetime | None = None) -> Run:
    return control.launch(campaign, by="user:alice", now=now or timezone.now())


def begin_of(day: datetime) -> datetime:
    """When it is nine in the first zone of all, on the day of this moment in Berlin."""
    wall = datetime.combine(day.astimezone(BERLIN).date(), time(9))
    return (wall - 14 * HOUR).replace(tzinfo=UTC)


def runs() -> list[tuple[datetime, str]]:
    found = Run.objects.order_by("scheduled_at", "pk")
    return list(found.values_list("scheduled_at", "state"))


def test_each_run_begins_when_it_is_that_time_in_the_first_zone_and_the_next_follows(
    project: Project, nine: datetime
) -> None:
    first = launch(daily(project, nine))
    begin, again = begin_of(nine), begin_of(nine + DAY)
    engine.sweep(begin - MINUTE)
    assert runs() == [(begin, "scheduled")]
    engine.sweep(begin)
    engine.sweep(begin)
    assert runs() == [(begin, "preparing"), (again, "scheduled")]

    following = Run.objects.exclude(pk=first.pk).get()
    walls = [run.local_time and run.local_time.wall for run in (first, following)]
    day = nine.astimezone(BERLIN).replace(tzinfo=None)
    assert walls == [day, day + DAY]
    assert [run.occurrence for run in (first, following)] == [
        name_of(at) for at in (nine, (nine.astimezone(BERLIN) + DAY).astimezone(UTC))
    ]


@pytest.mark.parametrize(("hours", "state"), [(20, "paused"), (24 * 7, "cancelled")])
def test_of_two_that_were_missed_the_older_is_left_out_once_it_is_around_the_earth(
    project: Project, nine: datetime, hours: int, state: str
) -> None:
    older = launch(daily(project, nine, until=nine + DAY + HOUR))
    newest = begin_of(nine + DAY)
    Tick.record(begin_of(nine) - MINUTE)
    engine.sweep(newest + hours * HOUR)
    assert runs() == [(begin_of(nine), state), (newest, "paused")]
    older.refresh_from_db()
    assert older.detail_code == ("left_out_for" if state == "cancelled" else "late")


def test_launched_while_it_is_that_time_somewhere_it_begins_at_once_for_the_others(
    project: Project, nine: datetime
) -> None:
    run = launch(daily(project, nine), now := nine - 5 * HOUR)
    assert (run.state, run.scheduled_at) == ("preparing", now)
    assert run.local_time is not None
    assert run.local_time.due_for("Asia/Seoul") is None, (
        "there it is past nine: the next one is theirs"
    )
    berlin, new_york = (
        run.local_time.due_for(zone) for zone in ("Europe/Berlin", "America/New_York")
    )
    assert berlin == nine
    assert new_york is not None and new_york.astimezone(ZoneInfo("America/New_York")).hour == 9


def test_launched_after_its_own_time_it_begins_with_the_next_one(
    project: Project, nine: datetime
) -> None:
    run = launch(daily(project, nine), nine + MINUTE)
    assert (run.state, run.scheduled_at) == ("scheduled", begin_of(nine + DAY))


def test_of_two_a_day_the_second_is_not_late_where_the_first_was_launched_late(
    project: Project, nine: datetime
) -> None:
    campaign = daily(project, nine, repeat="cron", cron="0 9,11 * * *")
    launch(campaign, now := nine - 5 * HOUR)
    for _ in range(3):
        engine.sweep(now)
    assert runs() == [
        (now, "preparing"), (now, "preparing"), (begin_of(nine + DAY), "scheduled"),
    ]  # fmt: skip
    instants = [datetime.fromisoformat(run.occurrence) for run in Run.objects.order_by("pk")]
    assert [at - nine for at in instants[:2]] == [timedelta(), 2 * HOUR]


def test_a_run_that_could_not_begin_in_time_asks_a_person(project: Project, nine: datetime) -> None:
    launch(daily(project, nine))
    begin = begin_of(nine)
    engine.sweep(begin)
    engine.sweep(begin + 2 * DAY + 4 * HOUR)
    asks = Run.objects.get(scheduled_at=begin_of(nine + DAY))
    assert (asks.state, asks.cause) == ("paused", "late"), "not left out, as the first goes on"


def test_launched_again_it_goes_on_behind_the_run_that_is_on_its_way(
    project: Project, nine: datetime
) -> None:
    """At another time, say: nobody gets two on one day."""
    launch(campaign := daily(project, nine))
    engine.sweep(begin_of(nine))
    control.stop(campaign, by="user:alice")
    campaign.refresh_from_db()
    campaign.at = nine + HOUR
    campaign.save()
    again = launch(campaign, nine - 2 * HOUR)
    assert datetime.fromisoformat(again.occurrence) == nine + DAY + HOUR


def test_summer_time_in_its_own_zone_is_that_of_nobody_else(project: Project) -> None:
    """At 02:30 in New York, on the day on which the clocks there leave it out."""
    new_york = ZoneInfo("America/New_York")
    at = datetime(2031, 3, 8, 2, 30, tzinfo=new_york).astimezone(UTC)
    by_cron = {"repeat": "cron", "cron": "30 2 * * *"}
    for repeats in ({}, by_cron):
        campaign = daily(project, at, **repeats)
        Campaign.objects.filter(pk=campaign.pk).update(timezone="America/New_York")
        campaign.refresh_from_db()
        coming = campaign.coming(at - HOUR, 3)
        by = [local.launched_at(campaign, one, campaign.begins(one)) for one in coming]
        assert [one.wall.strftime("%d %H:%M") for one in by if one] == [
            "08 02:30", "09 02:30", "10 02:30",
        ]  # fmt: skip


def test_one_on_its_way_around_the_earth_leaves_out_none(project: Project, nine: datetime) -> None:
    launch(daily(project, nine))
    engine.sweep(begin := begin_of(nine))
    engine.sweep(begin + DAY)
    assert [state for _at, state in runs()] == ["preparing", "preparing", "scheduled"]
    engine.sweep(begin + 2 * DAY)
    engine.sweep(begin + 3 * DAY)
    states = dict(Run.objects.values_list("scheduled_at", "state"))
    assert states[begin_of(nine + 2 * DAY)] == "preparing", "somebody may sleep for a day"
    fourth = begin_of(nine + 3 * DAY)
    assert states[fourth] == "cancelled", "the first ought to be over by then"
    assert Run.objects.get(scheduled_at=fourth).detail_code


@given(
    st.sampled_from(ZONES),
    st.datetimes(datetime.fromisoformat("2020-01-02"), datetime.fromisoformat("2039-12-30")),
    st.integers(0, 23),
    st.integers(-30 * 60, 30 * 60),
    st.sampled_from(ZONES),
)
def test_whoever_it_is_gets_it_at_that_time_once_a_day_from_then_on(
    zone: str, day: datetime, hour: int, minutes: int, own: str
) -> None:
    """The days are told by the campaign's zone; nobody misses one of them, or gets it twice."""
    first = day.replace(hour=hour, minute=0, second=0, microsecond=0, tzinfo=ZoneInfo(own))
    campaign = Campaign(
        schedule_kind="recurring", repeat="daily", at=first.astimezone(UTC), timezone=own,
        local_time=True, zoneless="skip", project=Project(),
    )  # fmt: skip
    launched = first.astimezone(UTC) + minutes * MINUTE
    found: list[datetime | None] = []
    for one in islice(moved_occurrences.after(campaign, launched, None), 5):
        by = local.launched_at(campaign, one.due, max(one.begins, launched))
        assert by is not None
        found.append(by.due_for(zone))
    got = [at for at in found if at is not None]
    assert len(got) >= 4 and None not in found[1:], "for the first alone it may be too late"
    days = [at.astimezone(ZoneInfo(zone)) for at in got]
    gaps = [later - earlier for earlier, later in pairwise(got)]
    assert all(at.hour == hour for at in days) or any(gap != DAY for gap in gaps), "but in a gap"
    assert all(timedelta() < gap <= 2 * DAY + HOUR for gap in gaps)


def test_none_of_it_is_moved(project: Project, nine: datetime) -> None:
    run = launch(campaign := daily(project, nine))
    assert "none of it is moved" in moving.problem(run, nine + HOUR, timezone.now())
    with pytest.raises(moving.NotMoved, match="none of it is moved"):
        moving.move_one(
            campaign, nine + DAY, to=nine + DAY + HOUR, was=None, by="user:alice",
            now=timezone.now(),
        )  # fmt: skip


def test_the_calendar_has_each_where_its_run_begins(project: Project, nine: datetime) -> None:
    launch(daily(project, nine))
    until = begin_of(nine) + 3 * DAY
    found = calendar.entries(Campaign.objects.all(), timezone.now(), until, timezone.now())
    begins = [begin_of(nine + n * DAY) for n in range(3)]
    assert [one.at for one in found] == begins
    assert [one.movable for one in found] == [False, True, True], "a later one is left out there"
    own = [one.instant and one.instant.astimezone(BERLIN).hour for one in found]
    assert own == [None, 9, 9], "the first is a run"


def test_the_planner_has_people_at_their_own_time_of_each_day(
    project: Project, nine: datetime
) -> None:
    launch(daily(project, nine))
    there, now = firebase_projects.for_project(project), timezone.now()
    found = planned_runs.compute_planned(there, now, begin_of(nine) + 3 * DAY, now).runs
    times = [one.asks.rules.local_time for one in found if one.asks]
    seoul = [by.due_for("Asia/Seoul") for by in times if by]
    assert [at.astimezone(ZoneInfo("Asia/Seoul")).hour for at in seoul if at] == [9, 9, 9]
    assert len({*seoul}) == 3
    ends = [one.ends_at for one in found]
    assert all(end and end > one.at + 18 * HOUR for one, end in zip(found, ends, strict=True))


def test_by_best_hours_it_goes_out_once_a_day_at_most(project: Project, nine: datetime) -> None:
    campaign = daily(project, nine, repeat="cron", cron="0 9,18 * * *", best_hour=True)
    with pytest.raises(ValidationError, match="one best hour a day") as refused:
        campaign.clean()
    assert [*refused.value.message_dict] == ["best_hour"]
    campaign.cron = "0 9 * * mon"
    campaign.clean()
    campaign.cron, campaign.best_hour = "0 9,18 * * *", False
    campaign.clean()
