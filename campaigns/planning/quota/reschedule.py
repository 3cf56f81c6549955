"""Reschedule: how a scheduled run would go at another time, and which runs it would slow down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from campaigns.planning.quota import firebase
from campaigns.planning.quota.delays import Pushed, slower
from campaigns.planning.quota.firebase import Firebase
from campaigns.planning.quota.planned import Planned, asks_for, planned, run_together
from campaigns.planning.quota.shared_gate import RunResult, simulate
from campaigns.planning.quota.sizes import Sizes
from campaigns.runs.run import Run

AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Moved:
    goes: RunResult
    slower: list[Pushed]  # slower than with its time now


def moved(run: Run, to: datetime, now: datetime, *, one: datetime | None = None) -> Moved | None:
    """Compute the effect of moving a run to `to`. `one`: move the occurrence of its series that is
    due then, not the run. None if nobody can count its people in time."""
    there = firebase.for_project(run.project)
    size = Sizes([run.campaign.pk]).of(run, run.rules, to)
    if size is None:
        return None
    asks = asks_for(run, size, to, run.local_time, there=there)
    if one is not None and run.once_each:  # everybody has got it by then
        asks = replace(asks, kinds={}, gets_it=0)
    [alone] = simulate([asks], there.gate)
    lasts = (alone.ends_at or to) - to
    found = _around((one or run.scheduled_at, to), 2 * lasts + AN_HOUR, there, now)
    others = [each for each in found if not _is_it(each, run, one)]
    *going, goes = simulate([*(each.asks for each in others if each.asks), asks], there.gate)
    then = iter(going)
    after = [next(then) if each.asks else None for each in others]
    before = [each for each in run_together(found, there) if not _is_it(each, run, one)]
    return Moved(goes, slower(before, after))


def _around(
    both: Sequence[datetime], width: timedelta, there: Firebase, now: datetime
) -> list[Planned]:
    """Return what is planned around each of the two times: years may lie between them."""
    found = {_which(one): one for at in both for one in planned(there, at, at + width, now)}
    return sorted(found.values(), key=lambda one: one.at)


def _which(one: Planned) -> tuple[int, int, datetime]:
    return one.campaign.pk, one.run.pk if one.run else 0, one.at


def _is_it(each: Planned, run: Run, one: datetime | None) -> bool:
    if one is not None:
        return each.run is None and each.campaign.pk == run.campaign.pk and each.at == one
    return each.run is not None and each.run.pk == run.pk
