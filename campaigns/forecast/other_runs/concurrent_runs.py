"""Concurrent runs: what else is planned while one run is sent, and the rate that this leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from campaigns.forecast.other_runs import firebase_projects
from campaigns.forecast.other_runs.planned_runs import Planned, planned
from campaigns.forecast.other_runs.shared_gate import RunRequest, RunResult, simulate
from campaigns.forecast.solver.capacity import Capacity
from campaigns.planning.campaign import Campaign

AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class SharedCapacity:
    """How fast a run may go beside other runs, and which runs take a share."""

    capacity: Capacity
    others: list[Planned]


def capacity_beside_others(
    campaign: Campaign, asks: RunRequest, alone: Capacity, now: datetime
) -> SharedCapacity:
    """Return the run's capacity beside other runs. `alone`: its capacity without other runs."""
    firebase_project = firebase_projects.for_project(campaign.project)
    [goes] = simulate([asks], firebase_project.gate)
    if goes.ends_at is None:
        return SharedCapacity(alone, [])
    lasts = goes.ends_at - asks.rules.start  # with others, it takes longer
    until = goes.ends_at + lasts + AN_HOUR
    planned_runs = planned(firebase_project, asks.rules.start, until, now)
    other_runs = [
        planned_run
        for planned_run in planned_runs
        if planned_run.asks and planned_run.campaign.pk != campaign.pk
    ]
    if not other_runs:
        return SharedCapacity(alone, [])
    *going, own = simulate(
        [*(planned_run.asks for planned_run in other_runs if planned_run.asks), asks],
        firebase_project.gate,
    )
    pairs = zip(other_runs, going, strict=True)
    overlapping = [
        replace(planned_run, goes=goes) for planned_run, goes in pairs if _do_overlap(goes, own)
    ]
    if not overlapping:
        return SharedCapacity(alone, [])
    stretches = tuple(
        stretch
        for planned_run in overlapping
        if planned_run.goes
        for stretch in planned_run.goes.stretches
    )
    return SharedCapacity(
        replace(alone, full=firebase_project.gate.full, most=alone.full, others=stretches),
        overlapping,
    )


def _do_overlap(first: RunResult, second: RunResult) -> bool:
    return any(
        first_stretch.begins < second_stretch.ends and second_stretch.begins < first_stretch.ends
        for first_stretch in first.stretches
        for second_stretch in second.stretches
    )


def named(others: Sequence[Planned], project_id: int) -> list[str]:
    """Return the names of this project's campaigns. Those of other projects stay unnamed."""
    return sorted(
        {
            planned_run.campaign.name
            for planned_run in others
            if planned_run.campaign.project_id == project_id
        }
    )
