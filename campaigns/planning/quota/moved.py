"""Moved: how a scheduled run would go at another time, and whom it would slow down there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from campaigns.planning.quota import firebase
from campaigns.planning.quota.firebase import Firebase
from campaigns.planning.quota.planned import Planned, asks_for, beside, planned
from campaigns.planning.quota.pushing import Pushed, slower
from campaigns.planning.quota.sizes import Sizes
from campaigns.planning.quota.together import Goes, together
from campaigns.runs.run import Run

AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Moved:
    goes: Goes
    slower: list[Pushed]  # than where it stands now


def moved(run: Run, to: datetime, now: datetime) -> Moved | None:
    """None: nobody can count its people in time."""
    there = firebase.of(run.project)
    size = Sizes([run.campaign.pk]).of(run, run.rules)
    if size is None:
        return None
    asks = asks_for(run, size, to, run.local_time, there=there)
    [alone] = together([asks], there.gate)
    lasts = (alone.ends_at or to) - to
    found = _around((run.scheduled_at, to), 2 * lasts + AN_HOUR, there, now)
    others = [one for one in found if not _is_it(one, run)]
    *going, goes = together([*(one.asks for one in others if one.asks), asks], there.gate)
    then = iter(going)
    after = [next(then) if one.asks else None for one in others]
    before = [one for one in beside(found, there) if not _is_it(one, run)]
    return Moved(goes, slower(before, after))


def _around(
    both: Sequence[datetime], width: timedelta, there: Firebase, now: datetime
) -> list[Planned]:
    """What is planned around each of the two: years may lie between them."""
    found = {_which(one): one for at in both for one in planned(there, at, at + width, now)}
    return sorted(found.values(), key=lambda one: one.at)


def _which(one: Planned) -> tuple[int, int, datetime]:
    return one.campaign.pk, one.run.pk if one.run else 0, one.at


def _is_it(one: Planned, run: Run) -> bool:
    return one.run is not None and one.run.pk == run.pk
