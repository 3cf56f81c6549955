"""One of a series goes at another time, and the others stay at theirs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from time_machine import travel

from campaigns import control
from campaigns.engine import engine
from campaigns.planning import calendar, schedule
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import moved_occurrences
from campaigns.planning.repeats.moved_occurrences import Occurrence
from campaigns.runs import series
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_people
from tests.given.waiting import eventually, somebody_waits

pytestmark = pytest.mark.django_db
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
FIRST = datetime(2031, 5, 5, 9, tzinfo=UTC)


@pytest.fixture
def daily(project: Project) -> Campaign:
    """At nine; the run of 5 May waits."""
    make_people(project, 1)
    asked = {"schedule_kind": "recurring", "repeat": "daily", "at": FIRST, "timezone": "UTC"}
    campaign = make_campaign(project, max_lateness_seconds=7 * 86_400, **asked)
    control.launch(campaign, by="user:alice", now=timezone.now())
    return campaign


def move(campaign: Campaign, at: datetime, to: datetime) -> Campaign:
    return control.move_one(campaign, at, to=to, by="user:alice")


def scheduled(campaign: Campaign) -> list[datetime]:
    runs = campaign.runs.filter(state="scheduled").order_by("scheduled_at")
    return list(runs.values_list("scheduled_at", flat=True))


def sweep(at: datetime) -> None:
    with travel(at, tick=False):
        engine.sweep(at)
    Run.objects.filter(scheduled_at__lte=at).update(state="finished", finished_at=at, planned=0)


@pytest.mark.parametrize("by", [5 * HOUR, -5 * HOUR, 20 * HOUR])
def test_its_run_is_due_where_it_was_moved_and_the_next_at_its_own_time(
    daily: Campaign, by: timedelta
) -> None:
    move(daily, FIRST + DAY, FIRST + DAY + by)
    assert daily.coming(FIRST, 3) == [FIRST + DAY + by, FIRST + 2 * DAY, FIRST + 3 * DAY]
    sweep(FIRST)
    assert scheduled(daily) == [FIRST + DAY + by]
    run = daily.runs.get(state="scheduled")
    assert run.occurrence == series.name_of(FIRST + DAY)
    sweep(FIRST + DAY + by)
    assert scheduled(daily) == [FIRST + 2 * DAY]
    sweep(FIRST + 2 * DAY)
    assert scheduled(daily) == [FIRST + 3 * DAY]
    assert daily.runs.count() == 4


def test_one_that_was_moved_to_later_is_made_though_we_were_down_at_its_own_time(
    daily: Campaign,
) -> None:
    move(daily, FIRST + DAY, FIRST + DAY + 5 * HOUR)
    sweep(FIRST + DAY + HOUR)
    assert scheduled(daily) == [FIRST + DAY + 5 * HOUR]


@pytest.fixture
def moved_twice(daily: Campaign) -> Run:
    """The run of 6 May: to noon before there was one, then itself to ten."""
    move(daily, FIRST + DAY, FIRST + DAY + 3 * HOUR)
    sweep(FIRST)
    run = daily.runs.get(state="scheduled")
    control.move(run, FIRST + DAY + HOUR, by="user:alice")
    return run


def test_a_cancelled_run_does_not_come_back_where_it_was_moved_before(
    daily: Campaign, moved_twice: Run
) -> None:
    control.cancel(moved_twice, by="user:alice")
    assert scheduled(daily) == [FIRST + 2 * DAY]
    daily.refresh_from_db()
    assert daily.coming(FIRST + HOUR, 2) == [FIRST + 3 * DAY, FIRST + 4 * DAY]


@pytest.mark.parametrize("why", ["paused", "one before is going"])
def test_one_that_is_left_out_does_not_come_back_where_it_was_moved_before(
    daily: Campaign, moved_twice: Run, why: str
) -> None:
    if why == "paused":
        control.pause_series(daily, by="user:alice")
    else:
        daily.runs.filter(scheduled_at=FIRST).update(state="sending", finished_at=None)
    schedule.start_due(FIRST + DAY + HOUR)  # on the second, before a sweep comes by
    engine.sweep(FIRST + DAY + HOUR)
    moved_twice.refresh_from_db()
    assert moved_twice.state == "cancelled"
    assert scheduled(daily) == [FIRST + 2 * DAY]


def test_a_run_is_not_expected_once_more_where_it_was_moved_before(
    daily: Campaign, moved_twice: Run
) -> None:
    campaigns = Campaign.objects.filter(pk=daily.pk)
    found = calendar.entries(campaigns, FIRST + DAY, FIRST + 3 * DAY, FIRST + DAY)
    assert [(one.at, one.state) for one in found] == [
        (FIRST + DAY + HOUR, "scheduled"), (FIRST + 2 * DAY, "expected"),
    ]  # fmt: skip
    with pytest.raises(Run.InvalidMove, match="None of the times to come is at this time"):
        move(daily, FIRST + DAY + 3 * HOUR, FIRST + DAY + 4 * HOUR)


def test_it_can_be_moved_again_and_back(daily: Campaign) -> None:
    move(daily, FIRST + DAY, FIRST + DAY + HOUR)
    move(daily, FIRST + DAY + HOUR, FIRST + DAY + 2 * HOUR)
    assert daily.coming(FIRST, 1) == [FIRST + DAY + 2 * HOUR]
    move(daily, FIRST + DAY + 2 * HOUR, FIRST + DAY)
    assert daily.moved == {}
    entries = AuditEntry.objects.filter(action="moved").order_by("pk")
    first = [str(at.isoformat()) for at in (FIRST + DAY, FIRST + DAY + HOUR)]
    assert entries[0].changes == {"scheduled_at": first}


@pytest.mark.parametrize(
    ("at", "to", "said"),
    [
        (FIRST + DAY, FIRST - HOUR, "The one before is due on 5 May 2031"),
        (FIRST + DAY, FIRST, "The one before is due on 5 May 2031"),
        (FIRST + DAY, FIRST + 2 * DAY, "The next one is due on 7 May 2031"),
        (FIRST + DAY, FIRST + DAY, "It is due at this time already"),
        (FIRST + DAY, datetime(2020, 1, 1, tzinfo=UTC), "This time has passed"),
        (FIRST + HOUR, FIRST + 2 * HOUR, "None of the times to come is at this time"),
        (FIRST, FIRST + HOUR, "That one is run"),
    ],
)
def test_where_it_cannot_go_is_said_and_nothing_is_moved(
    daily: Campaign, at: datetime, to: datetime, said: str
) -> None:
    with pytest.raises(Run.InvalidMove, match=said):
        move(daily, at, to)
    daily.refresh_from_db()
    assert daily.moved == {}


def test_none_passes_another_that_was_moved(daily: Campaign) -> None:
    move(daily, FIRST + 2 * DAY, FIRST + 2 * DAY - 3 * HOUR)
    with pytest.raises(Run.InvalidMove, match="The next one is due on 7 May 2031, 06:00"):
        move(daily, FIRST + DAY, FIRST + 2 * DAY - 2 * HOUR)
    with pytest.raises(Run.InvalidMove, match="The next one is due on 6 May 2031, 09:00"):
        control.move(daily.runs.get(), FIRST + DAY, by="user:alice")
    control.move(daily.runs.get(), FIRST + 20 * HOUR, by="user:alice")
    with pytest.raises(Run.InvalidMove, match="The one before is due on 6 May 2031, 05:00"):
        move(daily, FIRST + DAY, FIRST + 19 * HOUR)


@pytest.mark.django_db(transaction=True)
def test_of_a_run_and_the_next_that_are_moved_at_once_the_second_minds_the_first(
    daily: Campaign,
) -> None:
    run = Run.objects.get()

    def past_the_next() -> None:
        with closing(connection), pytest.raises(Run.InvalidMove, match="The next one is due on"):
            control.move(run, FIRST + 5 * HOUR, by="user:bob")

    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            move(daily, FIRST + DAY, FIRST + 4 * HOUR)
            asked = elsewhere.submit(past_the_next)
            eventually("the other waits", lambda: asked.done() or somebody_waits())
        asked.result(30)
    assert scheduled(daily) == [FIRST]


def test_a_stopped_series_moves_nothing(daily: Campaign) -> None:
    control.stop(daily, by="user:alice")
    with pytest.raises(Run.InvalidMove, match="does not repeat"):
        move(daily, FIRST + DAY, FIRST + DAY + HOUR)


def test_other_times_and_a_copy_begin_without_it(daily: Campaign) -> None:
    move(daily, FIRST + DAY, FIRST + DAY + HOUR)
    assert daily.duplicate().moved == {}
    control.stop(daily, by="user:alice")
    stopped = Campaign.objects.get(pk=daily.pk)
    stopped.clean()
    assert stopped.moved == daily.moved != {}
    stopped.repeat = "weekly"
    stopped.clean()
    assert stopped.moved == {}


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(-30, 30)), max_size=8))
def test_whatever_is_moved_they_keep_their_order_and_none_is_lost(
    moves: list[tuple[int, int]],
) -> None:
    campaign = Campaign(repeat="daily", at=FIRST, timezone="UTC", schedule_kind="recurring")
    for day, hours in moves:
        coming = list(islice(moved_occurrences.after(campaign, FIRST, None), 8))
        one, following = coming[day - 1], coming[day]
        before = max([FIRST, *(max(e.due, e.instant) for e in coming[: day - 1])])
        to = one.instant + hours * HOUR
        if not moved_occurrences.problem(
            campaign, one, to, before=before, following=following, now=FIRST - DAY
        ):
            campaign.moved = moved_occurrences.add_move(campaign, one, to, FIRST - DAY)
    found = list(islice(moved_occurrences.after(campaign, FIRST, None), 8))
    assert [one.instant for one in found] == [FIRST + n * DAY for n in range(1, 9)]
    assert all(earlier.due < later.due for earlier, later in pairwise(found))
    for one in found:  # asked from the middle on, the rest is the same
        rest = [each for each in found if each.due > one.due]
        assert list(islice(moved_occurrences.after(campaign, one.due, None), len(rest))) == rest


def test_whoever_looks_for_one_looks_no_further_than_the_next() -> None:
    campaign = Campaign(repeat="daily", at=FIRST, timezone="UTC", schedule_kind="recurring")
    campaign.moved = {series.name_of(FIRST + DAY): series.name_of(FIRST + DAY + HOUR)}
    coming = moved_occurrences.after(campaign, FIRST, None)
    for at in (FIRST + DAY, FIRST + 3 * DAY):
        one, following = moved_occurrences.find_occurrence(coming, at, "UTC")
        assert (one.instant, following) == (at, Occurrence(at + DAY, at + DAY, at + DAY))
    with pytest.raises(ValueError, match="None of the times to come"):
        moved_occurrences.find_occurrence(coming, FIRST + 5 * DAY + HOUR, "UTC")
    assert next(coming).instant == FIRST + 7 * DAY


def test_beyond_those_that_are_looked_through_it_says_how_far_one_can_be_moved(
    project: Project,
) -> None:
    hourly = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 * * * *", "at": FIRST}
    campaign = make_campaign(project, timezone="UTC", **hourly)
    control.launch(campaign, by="user:alice", now=timezone.now())
    alice, path = Caller(project), f"campaigns/{campaign.pk}/move"
    last = FIRST + 2_000 * HOUR
    assert f"{last:%d %B %Y, %H:%M}" == "27 July 2031, 17:00"
    beyond = {"at": (last + HOUR).isoformat(), "to": (last + HOUR + MINUTE).isoformat()}
    refused = alice.post(path, beyond)
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["at"])
    [error] = refused.json()["errors"]
    assert error["message"] == (
        "Only the next 2,000 times can be moved; the last of them is 27 Jul 2031, 17:00 UTC."
    )
    asked = {"at": last.isoformat(), "to": (last + MINUTE).isoformat()}
    assert alice.post(path, asked).status_code == 200


# --- Its doors ------------------------------------------------------------------------------------


def test_a_program_moves_one_of_them(daily: Campaign, project: Project) -> None:
    alice, path = Caller(project), f"campaigns/{daily.pk}"
    asked: dict[str, Any] = {"at": "2031-05-06T18:00", "to": "2031-05-06T20:00",
                             "timezone": "Asia/Seoul"}  # fmt: skip
    shown = alice.post(f"{path}/move", asked).json()
    assert shown["moved"] == {"2031-05-06T09:00:00+00:00": "2031-05-06T11:00:00+00:00"}
    assert alice.get(f"{path}/check").json()["when"]["coming"] == [
        "2031-05-05T09:00:00Z", "2031-05-06T11:00:00Z", "2031-05-07T09:00:00Z",
    ]  # fmt: skip
    for wrong, field in (
        ({"at": "2031-05-06T18:30"}, "at"), ({"to": "2031-05-08T20:00"}, "to"), ({"to": 5}, "to"),
        ({"at": "soon"}, "at"), ({"timezone": "Mars"}, "timezone"), ({"x": 1}, "x"),
    ):  # fmt: skip
        refused = alice.post(f"{path}/move", {**asked, **wrong})
        assert (refused.status_code, fields_at_fault(refused)) == (400, [field])
    assert alice.post(f"{path}/move", {**asked, "at": "2031-05-05T18:00"}).status_code == 409
    assert alice.post("campaigns/999999/move", asked).status_code == 404


@pytest.mark.parametrize(
    "rare",
    [
        {"repeat": "cron", "cron": "0 9 29 2 *"},
        {"repeat": "weekly", "every": 365},
        {"repeat": "monthly", "every": 60},
    ],
)
def test_one_that_comes_seldom_is_moved_too(project: Project, rare: dict[str, Any]) -> None:
    first = datetime(2032, 2, 29, 9, tzinfo=UTC)
    asked = {"schedule_kind": "recurring", "at": first, "timezone": "UTC", **rare}
    campaign = make_campaign(project, **asked)
    control.launch(campaign, by="user:alice", now=timezone.now())
    [at] = campaign.coming(first, 1)
    alice, path = Caller(project), f"campaigns/{campaign.pk}/move"
    times = {"to": f"{at + HOUR:%Y-%m-%dT%H:%M}", "timezone": "UTC"}
    wrong = alice.post(path, {"at": f"{at - DAY:%Y-%m-%dT%H:%M}", **times})
    assert (wrong.status_code, fields_at_fault(wrong)) == (400, ["at"])
    far = alice.post(path, {"at": "9999-12-31T09:00", **times})
    assert (far.status_code, fields_at_fault(far)) == (400, ["at"])
    assert alice.post(path, {"at": f"{at:%Y-%m-%dT%H:%M}", **times}).status_code == 200
    campaign.refresh_from_db()
    assert campaign.moved == {series.name_of(at): series.name_of(at + HOUR)}
