"""Which days a series has: every so many, those of a week, a month's last, and some left out."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from campaigns import control
from campaigns.planning import rhythm_in_words, schedule
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats.rhythm import Rhythm
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_campaign

DAY = timedelta(days=1)
FIRST = datetime(2031, 5, 7, 9, tzinfo=UTC)  # a Wednesday
EARLIEST, LATEST = (datetime.fromisoformat(f"{year}-01-01") for year in (2026, 2040))


def shown(repeat: str, count: int, first: datetime = FIRST, **more: Any) -> list[str]:
    found = Rhythm(first, repeat, "UTC", **more).after(first - DAY)
    return [f"{at:%a %m-%d}" for at in islice(found, count)]


def test_every_second_week_is_counted_from_the_first_time() -> None:
    assert shown("weekly", 3, every=2) == ["Wed 05-07", "Wed 05-21", "Wed 06-04"]
    assert shown("daily", 3, every=10) == ["Wed 05-07", "Sat 05-17", "Tue 05-27"]
    assert shown("monthly", 3, every=3) == ["Wed 05-07", "Thu 08-07", "Fri 11-07"]


def test_monday_to_friday_leaves_the_weekends_out() -> None:
    assert shown("daily", 4, on_days="workdays") == [
        "Wed 05-07", "Thu 05-08", "Fri 05-09", "Mon 05-12",
    ]  # fmt: skip
    saturday = FIRST + 3 * DAY
    assert shown("daily", 1, saturday, on_days="workdays") == ["Mon 05-12"]


def test_a_week_has_several_days_and_begins_on_monday() -> None:
    several: dict[str, Any] = {"weekdays": (0, 2, 6)}
    assert shown("weekly", 4, **several) == ["Wed 05-07", "Sun 05-11", "Mon 05-12", "Wed 05-14"]
    assert shown("weekly", 4, every=2, **several) == [
        "Wed 05-07", "Sun 05-11", "Mon 05-19", "Wed 05-21",
    ]  # fmt: skip
    assert shown("weekly", 2, weekdays=(1,)) == ["Tue 05-13", "Tue 05-20"]
    assert shown("weekly", 1, every=365, weekdays=(1,)) == ["Tue 05-04"]


def test_a_months_last_day_is_its_last_whatever_day_it_began_on() -> None:
    first = datetime(2031, 1, 15, 9, tzinfo=UTC)
    assert shown("monthly", 4, first, on_days="last_day") == [
        "Fri 01-31", "Fri 02-28", "Mon 03-31", "Wed 04-30",
    ]  # fmt: skip


def test_a_day_off_is_left_out_and_moves_no_other() -> None:
    off = frozenset({date(2031, 5, 14), date(2031, 5, 15)})
    assert shown("weekly", 3, days_off=off) == ["Wed 05-07", "Wed 05-21", "Wed 05-28"]
    assert shown("weekly", 1, days_off=off | {FIRST.date()}) == ["Wed 05-21"]


def test_a_rhythm_without_any_day_ends_instead_of_searching_for_ever() -> None:
    saturday = FIRST + 3 * DAY
    assert shown("daily", 1, saturday, every=7, on_days="workdays") == []


@given(
    first=st.datetimes(EARLIEST, LATEST).map(
        lambda at: at.replace(second=0, microsecond=0, tzinfo=UTC)
    ),
    repeat=st.sampled_from(["daily", "weekly", "monthly"]),
    every=st.integers(1, 365),
    on_days=st.sampled_from(["", "workdays", "last_day"]),
    weekdays=st.sets(st.integers(0, 6)).map(lambda days: tuple(sorted(days))),
    off=st.sets(st.integers(0, 400), max_size=60),
    asked=st.integers(-400, 4_000),
)
def test_each_is_on_its_days_and_none_is_missed_wherever_one_begins_to_ask(
    first: datetime,
    repeat: str,
    every: int,
    on_days: str,
    weekdays: tuple[int, ...],
    off: set[int],
    asked: int,
) -> None:
    left_out = frozenset(first.date() + n * DAY for n in off)
    of_week = weekdays if repeat == "weekly" else ()
    rhythm = Rhythm(
        first, repeat, "UTC",
        every=every, on_days=on_days, weekdays=of_week, days_off=left_out,
    )  # fmt: skip
    whole = list(islice(rhythm.after(first - 40 * DAY), 30))
    assert whole == sorted(set(whole))
    for at in whole:
        assert at >= first and at.date() not in left_out
        assert on_days != "workdays" or at.weekday() < 5
        assert on_days != "last_day" or repeat != "monthly" or is_last(at.date())
        assert not of_week or at.weekday() in of_week
        days = (at.date() - first.date()).days
        weeks = (days + first.weekday()) // 7 if of_week else days / 7
        months = 12 * (at.year - first.year) + at.month - first.month
        assert {"daily": days, "weekly": weeks, "monthly": months}[repeat] % every == 0
    if of_week and not on_days and every == 1 and len(whole) == 30:  # none is missed
        each_day = (first + n * DAY for n in range((whole[-1] - first).days + 1))
        on = [at for at in each_day if at.weekday() in of_week and at.date() not in left_out]
        assert whole == on
    moment = first + asked * DAY
    if whole and moment < whole[-1]:
        assert rhythm.next_after(moment) == next(at for at in whole if at > moment)


def is_last(day: date) -> bool:
    return day.day == monthrange(day.year, day.month)[1]


# --- A campaign ----------------------------------------------------------------------------------


def make_daily(project: Project, **values: Any) -> Campaign:
    times = {"schedule_kind": "recurring", "repeat": "daily", "at": FIRST, **values}
    return make_campaign(project, **times)


def the_one_after(run: Run) -> Run:
    """Once it has gone out."""
    Run.objects.filter(pk=run.pk).update(
        state="finished", started_at=run.scheduled_at, finished_at=run.scheduled_at
    )
    schedule.plan_series(run.scheduled_at + timedelta(minutes=1))
    return Run.objects.exclude(pk=run.pk).get(campaign=run.campaign)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"on_days": "workdays", "repeat": "weekly"}, "on_days"),
        ({"on_days": "workdays", "every": 2}, "on_days"),
        ({"on_days": "last_day"}, "on_days"),
        ({"weekdays": "mon"}, "weekdays"),
        ({"weekdays": "mon,someday", "repeat": "weekly"}, "weekdays"),
        ({"days_off": "soon"}, "days_off"),
        ({"every": 0}, "every"),
        ({"every": 366}, "every"),
    ],
)
def test_days_that_do_not_go_together_are_refused_at_their_field(
    project: Project, values: dict[str, Any], field: str
) -> None:
    campaign = make_daily(project)
    for name, value in values.items():
        setattr(campaign, name, value)
    with pytest.raises(ValidationError) as refused:
        campaign.full_clean()
    assert field in refused.value.message_dict


def test_the_series_starts_and_goes_on_on_its_days_alone(project: Project) -> None:
    off = "2031-05-07\n2031-05-09\n2031-05-10"  # the third one is a Saturday
    campaign = make_daily(project, on_days="workdays", days_off=off)
    run = control.launch(campaign, by="user:alice", now=FIRST - DAY)
    assert run.scheduled_at == datetime(2031, 5, 8, 9, tzinfo=UTC)
    said = rhythm_in_words.of_campaign(campaign)
    assert said == (
        "Repeats every day from Monday to Friday at 09:00 UTC, without 2 days off, "
        "until somebody stops it."
    )
    assert the_one_after(run).scheduled_at == datetime(2031, 5, 12, 9, tzinfo=UTC), "a Monday"


def test_the_first_of_its_times_is_one_of_its_days(project: Project) -> None:
    campaign = make_daily(project, repeat="weekly", weekdays="mon,tue", every=2)
    assert campaign.first == datetime(2031, 5, 19, 9, tzinfo=UTC), "of the second week after"
    campaign.weekdays = "wed"
    assert campaign.first == FIRST
    campaign.schedule_kind = "at"
    assert campaign.first == FIRST


def test_a_run_of_a_series_that_was_stopped_does_not_tell_of_the_next_one(
    project: Project,
) -> None:
    campaign = make_daily(project, repeat="weekly", weekdays="mon")
    first = control.launch(campaign, by="user:alice", now=FIRST - DAY)
    assert "on Monday" in rhythm_in_words.of_run(first)
    control.stop(campaign, by="user:alice")
    Campaign.objects.update(weekdays="tue")
    campaign = Campaign.objects.get()
    again = control.launch(campaign, by="user:alice", now=FIRST - DAY)
    assert rhythm_in_words.of_run(Run.objects.get(pk=first.pk)) == ""
    assert "on Tuesday" in rhythm_in_words.of_run(again)


def test_a_series_of_several_days_a_week_says_which_and_goes_on_on_them(
    project: Project,
) -> None:
    campaign = make_daily(project, repeat="weekly", weekdays="fri,mon")
    campaign.full_clean()
    campaign.save()
    assert campaign.weekdays == "mon,fri"
    run = control.launch(campaign, by="user:alice", now=FIRST - DAY)
    assert run.scheduled_at == datetime(2031, 5, 9, 9, tzinfo=UTC), "a Friday"
    assert campaign.how_often == "Every week on Monday, Friday"
    assert rhythm_in_words.of_campaign(campaign) == (
        "Repeats every week on Monday, Friday at 09:00 UTC, until somebody stops it."
    )
    assert the_one_after(run).scheduled_at == datetime(2031, 5, 12, 9, tzinfo=UTC), "a Monday"
