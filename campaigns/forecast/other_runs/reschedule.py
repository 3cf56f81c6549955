"""Reschedule: how a scheduled run would go at another time, and which runs it would slow down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from campaigns.forecast.other_runs import firebase_projects
from campaigns.forecast.other_runs.delays import Pushed, slower
from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.planned_runs import Planned, asks_for, planned, run_together
from campaigns.forecast.other_runs.run_sizes import Sizes
from campaigns.forecast.other_runs.shared_gate import RunResult, simulate
from campaigns.runs.run import Run

AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Moved:
    goes: RunResult
    slower: list[Pushed]  # slower than with its time now


def moved(run: Run, to: datetime, now: datetime, *, one: datetime | None = None) -> Moved | None:
    """Compute the effect of moving a run to `to`. `one`: move the occurrence of its series that is
    due then, not the run. None if nobody can count its people in time."""
    firebase_project = firebase_projects.for_project(run.project)
    size = Sizes([run.campaign.pk]).size_of(run, run.rules, to)
    if size is None:
        return None
    request = asks_for(run, size, to, run.local_time, there=firebase_project)
    if one is not None and run.once_each:  # everybody has got it by then
        request = replace(request, kinds={}, gets_it=0)
    [alone] = simulate([request], firebase_project.gate)
    lasts = (alone.ends_at or to) - to
    nearby = _planned_around(
        (one or run.scheduled_at, to), 2 * lasts + AN_HOUR, firebase_project, now
    )
    other_runs = [planned_run for planned_run in nearby if not _is_same(planned_run, run, one)]
    *going, goes = simulate(
        [*(planned_run.asks for planned_run in other_runs if planned_run.asks), request],
        firebase_project.gate,
    )
    results = iter(going)
    after = [next(results) if planned_run.asks else None for planned_run in other_runs]
    before = [
        planned_run
        for planned_run in run_together(nearby, firebase_project)
        if not _is_same(planned_run, run, one)
    ]
    return Moved(goes, slower(before, after))


def _planned_around(
    times: Sequence[datetime], width: timedelta, firebase_project: Firebase, now: datetime
) -> list[Planned]:
    """Return what is planned around each of the two times: years may lie between them."""
    by_key = {
        _key_of(planned_run): planned_run
        for at in times
        for planned_run in planned(firebase_project, at, at + width, now)
    }
    return sorted(by_key.values(), key=lambda planned_run: planned_run.at)


def _key_of(planned_run: Planned) -> tuple[int, int, datetime]:
    return planned_run.campaign.pk, planned_run.run.pk if planned_run.run else 0, planned_run.at


def _is_same(planned_run: Planned, run: Run, due_at: datetime | None) -> bool:
    if due_at is not None:
        return (
            planned_run.run is None
            and planned_run.campaign.pk == run.campaign.pk
            and planned_run.at == due_at
        )
    return planned_run.run is not None and planned_run.run.pk == run.pk
