"""Delays: which planned runs would end later because of one more run, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.planned_runs import Planned, planned, run_together
from campaigns.forecast.other_runs.shared_gate import RunRequest, RunResult, simulate
from campaigns.forecast.rate_forecast import forecast_rate
from campaigns.forecast.solver.rules import PersonKind, Rules
from campaigns.planning.campaign import Campaign

MAX_MESSAGES = 1_000_000_000
AN_HOUR = timedelta(hours=1)
WORTH_SAYING = timedelta(seconds=5)
TTL = timedelta(days=28)  # for messages that nobody has written yet: the longest that FCM takes


@dataclass(frozen=True)
class Pushed:
    """A planned run that ends later, or some of whose messages expire."""

    planned: Planned
    ends_at: datetime  # with the additional run
    later: timedelta
    fewer: int  # how many get nothing, because it expires before their turn


@dataclass(frozen=True)
class Outcome:
    """The effect of one more run."""

    goes: RunResult
    alone_ends_at: datetime | None  # if nothing else were planned
    pushed: list[Pushed]

    @property
    def ends_at(self) -> datetime | None:
        return self.goes.ends_at


def with_another(
    asks: RunRequest, there: Firebase, now: datetime, *, of: Campaign | None = None
) -> Outcome:
    """Compute the effect of one more run. `of`: it replaces what is planned of this campaign."""
    start = asks.rules.start
    [alone] = simulate([asks], there.gate)
    lasts = (alone.ends_at or start) - start  # beside others, it takes longer
    planned_runs = planned(there, start, start + 2 * lasts + AN_HOUR, now)
    other_runs = [
        planned_run
        for planned_run in planned_runs
        if planned_run.asks and (of is None or planned_run.campaign.pk != of.pk)
    ]
    *results, goes = simulate(
        [*(planned_run.asks for planned_run in other_runs if planned_run.asks), asks], there.gate
    )
    return Outcome(goes, alone.ends_at, slower(run_together(other_runs, there), results))


def messages(count: int, at: datetime, there: Firebase) -> RunRequest:
    """Return what `count` messages at once ask for, as a campaign without its own rate would."""
    rate = min(forecast_rate(there.projects[0], None, count).rate, there.gate.full)
    return RunRequest({PersonKind(): count}, count, Rules(start=at, ttl=TTL), rate)


def _find_delay(planned_run: Planned, after: RunResult) -> Pushed | None:
    before = planned_run.goes
    if before is None or before.ends_at is None or after.ends_at is None:
        return None
    later, fewer = after.ends_at - before.ends_at, before.sent - after.sent
    if later < WORTH_SAYING and fewer <= 0:
        return None
    return Pushed(planned_run, after.ends_at, max(later, timedelta()), max(0, fewer))


def slower(before: Sequence[Planned], after: Sequence[RunResult | None]) -> list[Pushed]:
    """Return the runs that end later then. None in `after`: nobody could count that run."""
    delays = [
        _find_delay(planned_run, goes)
        for planned_run, goes in zip(before, after, strict=True)
        if goes
    ]
    return [delay for delay in delays if delay]
