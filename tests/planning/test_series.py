"""A series, whatever one does to it: one is left out, all of it stops, it is launched again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from time_machine import travel

from campaigns import control
from campaigns.engine import engine
from campaigns.planning import moving
from campaigns.planning.campaign import Campaign
from campaigns.runs import series
from campaigns.runs.run import Run
from campaigns.runs.series import name_of
from tests.given.builders import make_campaign, make_project
from tests.given.waiting import eventually, somebody_waits

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
LAST = 8  # the number of its last day
DAYS = range(LAST + 1)


def stopped_for_the_release_before(run: Run) -> bool:
    """As it reads the last run of a series."""
    unbegun = run.state == "cancelled" and run.started_at is None
    return unbegun and not (run.cause == "" and run.detail_code != "")


class Series(RuleBasedStateMachine):
    """A daily campaign, and a plain account of what should become of it."""

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()
        self.now = timezone.now()
        self.first = (self.now + 2 * HOUR).replace(second=0, microsecond=0)
        self.campaign_id = make_campaign(
            make_project(), schedule_kind="recurring", repeat="daily", timezone="UTC",
            at=self.first, until=self.time_of(LAST), max_lateness_seconds=7 * 86_400,
        ).pk  # fmt: skip
        self.stands = "draft"  # then going, ended or stopped
        self.waits: int | None = None  # its day
        self.due = self.now
        self.under_way: int | None = None
        self.ran: set[int] = set()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.undo.__exit__(None, None, None)

    @property
    def campaign(self) -> Campaign:
        return Campaign.objects.get(pk=self.campaign_id)

    @property
    def waiting(self) -> Run:
        return Run.objects.get(campaign=self.campaign_id, state="scheduled")

    def time_of(self, day: int) -> datetime:
        return self.first + day * DAY

    def next_day(self, after: datetime) -> int | None:
        return next((d for d in DAYS if self.time_of(d) > after and d not in self.ran), None)

    def goes_on_after(self, day: int, *, else_it: str) -> None:
        since = max(self.due, self.time_of(day), self.now)
        self.waits = self.next_day(since)
        self.stands = else_it if self.waits is None else "going"
        self.due = self.due if self.waits is None else self.time_of(self.waits)

    # --- What may happen --------------------------------------------------------------------------

    @rule()
    def launch(self) -> None:
        day = self.next_day(self.now)
        with travel(self.now, tick=False):
            if self.stands in ("going", "ended"):
                with pytest.raises(Campaign.AlreadyLaunched):
                    control.launch(self.campaign, by="user:alice", now=self.now)
            elif day is None:
                with pytest.raises(Campaign.NotReady, match="end has passed"):
                    control.launch(self.campaign, by="user:alice", now=self.now)
            else:
                control.launch(self.campaign, by="user:alice", now=self.now)
                self.stands, self.waits, self.due = "going", day, self.time_of(day)

    @rule()
    def cancel_the_one_that_waits(self) -> None:
        if self.waits is None:
            return
        with travel(self.now, tick=False):
            control.cancel(self.waiting, by="user:bob")
        self.goes_on_after(self.waits, else_it="stopped")

    @rule()
    def stop(self) -> None:
        with travel(self.now, tick=False):
            if self.stands != "going":
                with pytest.raises(Run.InvalidMove, match="nothing repeats"):
                    control.stop(self.campaign, by="user:alice")
                return
            control.stop(self.campaign, by="user:alice")
        self.stands, self.waits = "stopped", None

    @rule(hours=st.integers(0, 72))
    def time_passes_and_beat_sweeps_twice(self, hours: int) -> None:
        self.now += hours * HOUR
        for _ in range(2):
            engine.sweep(self.now)
        if self.waits is None or self.due > self.now:
            return
        day = self.waits
        if self.under_way is None:  # else it is left out
            self.under_way = day
            self.ran.add(day)
        self.goes_on_after(day, else_it="ended")

    @rule()
    def what_is_under_way_ends(self) -> None:
        preparing = Run.objects.filter(campaign=self.campaign_id, state="preparing")
        preparing.update(state="finished", started_at=self.now, finished_at=self.now, planned=0)
        self.under_way = None

    @rule(minutes=st.integers(1, 600))
    def move_ahead(self, minutes: int) -> None:
        to = self.now + timedelta(minutes=minutes)
        if self.waits is None or to >= self.due:
            return
        moving.move(self.waiting, to=to, was=self.due, by="user:bob", now=self.now)
        self.due = to

    # --- What must hold ---------------------------------------------------------------------------

    @invariant()
    def exactly_the_next_one_waits(self) -> None:
        rows = Run.objects.filter(campaign=self.campaign_id, state="scheduled")
        found = list(rows.values_list("occurrence", "scheduled_at"))
        waits = self.waits
        assert found == ([] if waits is None else [(name_of(self.time_of(waits)), self.due)])

    @invariant()
    def nothing_ran_that_should_not(self) -> None:
        rows = Run.objects.filter(campaign=self.campaign_id)
        begun = rows.filter(state__in=("preparing", "finished")).values_list("occurrence")
        assert sorted(begun) == sorted((name_of(self.time_of(day)),) for day in self.ran)

    @invariant()
    def everybody_agrees_whether_it_goes_on(self) -> None:
        campaign = self.campaign
        last = series.last_run(campaign.pk)
        assert (campaign.series is not None) == (self.stands in ("going", "ended"))
        if last is not None:
            assert series.goes_on(last, self.now) == (self.stands == "going")
        if last is not None and last.started_at is None:
            assert stopped_for_the_release_before(last) == (self.stands == "stopped")


def test_it_is_where_its_people_left_it_whatever_they_did(db: None) -> None:
    machine: Any = Series
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# --- At the same moment ---------------------------------------------------------------------------


def at_once(first: Callable[[], object], second: Callable[[], object]) -> None:
    """The second has read what it acts on when the first commits."""

    def on_another_connection() -> None:
        try:
            second()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            first()
            done = other.submit(on_another_connection)
            eventually("the second waits", somebody_waits)
        done.result()


@pytest.fixture
def due(transactional_db: None) -> Run:
    """Of a daily campaign, in the minute at which beat would plan the one after it."""
    first = (timezone.now() + HOUR).replace(second=0, microsecond=0)
    campaign = make_campaign(
        make_project(), schedule_kind="recurring", repeat="daily", at=first, timezone="UTC"
    )
    return control.launch(campaign, by="user:alice", now=timezone.now())


def states(run: Run) -> list[tuple[datetime, str]]:
    return list(run.campaign.runs.order_by("pk").values_list("scheduled_at", "state"))


def test_a_sweep_in_the_moment_of_a_stop_plans_nothing(due: Run) -> None:
    at_once(
        lambda: control.stop(due.campaign, by="user:alice"),
        lambda: engine.sweep(due.scheduled_at),
    )
    assert states(due) == [(due.scheduled_at, "cancelled")]


def test_a_sweep_in_the_moment_of_a_cancel_plans_no_second_one(due: Run) -> None:
    at_once(
        lambda: control.cancel(Run.objects.get(pk=due.pk), by="user:alice"),
        lambda: engine.sweep(due.scheduled_at),
    )
    assert states(due) == [(due.scheduled_at, "cancelled"), (due.scheduled_at + DAY, "scheduled")]


def test_two_launches_at_once_make_one_series_whatever_their_clocks_say(due: Run) -> None:
    control.stop(due.campaign, by="user:alice")
    campaign, late = Campaign.objects.get(), due.scheduled_at + HOUR

    def launch_again() -> None:
        with pytest.raises(Campaign.AlreadyLaunched):
            control.launch(campaign, by="user:bob", now=late)

    at_once(lambda: control.launch(campaign, by="user:alice", now=timezone.now()), launch_again)
    assert [state for _, state in states(due)] == ["cancelled", "scheduled"]
