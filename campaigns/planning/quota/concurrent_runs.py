"""Concurrent runs: what else is planned while one run is sent, and the rate that this leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from campaigns.planning.campaign import Campaign
from campaigns.planning.quota import firebase
from campaigns.planning.quota.planned import Planned, planned
from campaigns.planning.quota.shared_gate import RunRequest, RunResult, simulate
from campaigns.planning.solver.capacity import Capacity

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
    there = firebase.for_project(campaign.project)
    [goes] = simulate([asks], there.gate)
    if goes.ends_at is None:
        return SharedCapacity(alone, [])
    lasts = goes.ends_at - asks.rules.start  # with others, it takes longer
    until = goes.ends_at + lasts + AN_HOUR
    found = planned(there, asks.rules.start, until, now)
    others = [one for one in found if one.asks and one.campaign.pk != campaign.pk]
    if not others:
        return SharedCapacity(alone, [])
    *going, own = simulate([*(one.asks for one in others if one.asks), asks], there.gate)
    pairs = zip(others, going, strict=True)
    meets = [replace(one, goes=goes) for one, goes in pairs if _meet(goes, own)]
    if not meets:
        return SharedCapacity(alone, [])
    stretches = tuple(each for one in meets if one.goes for each in one.goes.stretches)
    return SharedCapacity(
        replace(alone, full=there.gate.full, most=alone.full, others=stretches), meets
    )


def _meet(one: RunResult, other: RunResult) -> bool:
    return any(
        this.begins < that.ends and that.begins < this.ends
        for this in one.stretches
        for that in other.stretches
    )


def named(others: Sequence[Planned], project_id: int) -> list[str]:
    """Return the names of this project's campaigns. Those of other projects stay unnamed."""
    return sorted({one.campaign.name for one in others if one.campaign.project_id == project_id})
