"""Foretold: how many devices of a launch would end how, by what was found of those rehearsed.

Of everybody, as many as were found; of a sample, its share of all, and from where to where that may
lie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.results.rehearsed.interval import Z, wilson
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.sums import Totals

CLOSE = 0.01  # of everybody: people register and leave meanwhile
ENDS = ("accepted", "rejected", "skipped", "unknown")
assert set(ENDS) == set(Delivery.Status.values)


@dataclass(frozen=True)
class Foretold:
    """So many of a launch's devices, and from how many to how many that may be."""

    name: str
    found: int  # of those rehearsed
    count: int
    low: int
    high: int

    def holds(self, real: int) -> bool:
        return self.low <= real <= self.high


def planned(rehearsal: Rehearsal, *, gone: int = 0) -> Foretold:
    """`gone`: those that the rehearsal retired, which a launch does not meet any more."""
    return _exactly("planned", rehearsal.run.planned or 0, rehearsal.stands_for - gone)


def left_out(reasons: Mapping[str, int]) -> int:
    """By chance, on purpose."""
    return sum(reasons.get(reason, 0) for reason in (Reason.CONTROL, Reason.HOLDOUT))


def ends(
    rehearsal: Rehearsal, totals: Totals, *, gone: int = 0, besides: int = 0
) -> list[Foretold]:
    """Of how many FCM would accept the message, and of how many not. `besides`: so many of those
    who were skipped are not asked about."""
    ended = {name: getattr(totals, name) for name in ENDS}
    ended["skipped"] -= besides
    found = [_end(rehearsal, name, count, totals.settled) for name, count in ended.items()]
    return [_without(one, gone) if one.name == "rejected" else one for one in found]


def thinned(
    one: Foretold, share: float, chance: float | None = None, *, of: int | None = None
) -> Foretold:
    """Of a run that leaves some out by chance: with this share of the others, give or take what
    chance does to their number. `chance`: the share that is left out, by all who draw; `of`: so
    many were drawn from."""
    chance = 1 - share if chance is None else chance
    swing = Z * math.sqrt((one.count if of is None else of) * share * chance)
    low, high = math.floor(one.low * share - swing), math.ceil(one.high * share + swing)
    return Foretold(one.name, one.found, round(one.count * share), max(0, low), high)


def _end(rehearsal: Rehearsal, name: str, found: int, of: int) -> Foretold:
    if not rehearsal.is_sample:
        return _exactly(name, found, found)
    whole = rehearsal.stands_for
    low, high = wilson(found, of).of(whole)
    others = whole - of  # of whom nothing is known; of those rehearsed it is
    low, high = max(low, found), min(high, found + others)
    return Foretold(name, found, round(whole * found / of) if of else 0, low, high)


def _exactly(name: str, found: int, count: int) -> Foretold:
    most = max(1, math.ceil(CLOSE * count))
    return Foretold(name, found, count, max(0, count - most), count + most)


def _without(one: Foretold, gone: int) -> Foretold:
    left = (max(0, count - gone) for count in (one.count, one.low, one.high))
    return Foretold(one.name, one.found, *left)
