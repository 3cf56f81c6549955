"""Projection: how many devices of a launch would end how, given the outcomes of a rehearsal.

A rehearsal of all devices gives the numbers themselves. A sample gives its shares of all devices,
each with a 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.sums import Totals

Z = 1.96  # 95 %
TOLERANCE = 0.01  # of all devices: people register and leave between rehearsal and run
OUTCOMES = ("accepted", "rejected", "skipped", "unknown")
assert set(OUTCOMES) == set(Delivery.Status.values)


@dataclass(frozen=True)
class Interval:
    """The bounds of a share, from 0 to 1."""

    low: float
    high: float

    def counts(self, total: int) -> tuple[int, int]:
        """The same bounds as counts out of `total`."""
        return math.floor(self.low * total), math.ceil(self.high * total)


def wilson(count: int, total: int) -> Interval:
    """The 95 % interval of Wilson for a share. It stays right near 0 % and 100 %, where the shares
    of dead addresses lie and the usual “± 1.96 standard errors” is far too narrow."""
    if not total:
        return Interval(0.0, 1.0)
    share, weight = count / total, Z**2 / total
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / total + weight / (4 * total)) / (1 + weight)
    # At the ends the formula gives exactly 0 and 1; in floating point, nearly.
    low = 0.0 if count == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if count == total else min(1.0, middle + half))


def margin(share: float, total: int) -> float:
    """The half width of the interval, in percentage points."""
    found = wilson(round(share * total), total)
    return 100 * (found.high - found.low) / 2


@dataclass(frozen=True)
class Projection:
    """How many devices of a launch would have this outcome, with bounds."""

    name: str
    found: int  # among the rehearsed devices
    count: int
    low: int
    high: int

    def contains(self, count: int) -> bool:
        return self.low <= count <= self.high


def project_planned(rehearsal: Rehearsal, *, retired: int = 0) -> Projection:
    """`retired`: devices that the rehearsal retired, which a launch no longer includes."""
    return _exact("planned", rehearsal.run.planned or 0, rehearsal.stands_for - retired)


def count_left_out(reasons: Mapping[str, int]) -> int:
    """The devices that were left out at random, to compare: control group and holdout."""
    return sum(reasons.get(reason, 0) for reason in (Reason.CONTROL, Reason.HOLDOUT))


def project_outcomes(
    rehearsal: Rehearsal, totals: Totals, *, retired: int = 0, left_out: int = 0
) -> list[Projection]:
    """One for each outcome. `left_out`: skipped devices that do not count as skipped."""
    counts = {name: getattr(totals, name) for name in OUTCOMES}
    counts["skipped"] -= left_out
    found = [_project(rehearsal, name, count, totals.settled) for name, count in counts.items()]
    return [_subtract(one, retired) if one.name == "rejected" else one for one in found]


def scale(
    projection: Projection, share: float, left_out: float | None = None, *, total: int | None = None
) -> Projection:
    """Scale down for a run that leaves devices out at random, with bounds that are wider by what
    chance does to their number.

    `left_out`: the share that is left out, added over all draws. `total`: the devices drawn from.
    """
    left_out = 1 - share if left_out is None else left_out
    drawn_from = projection.count if total is None else total
    swing = Z * math.sqrt(drawn_from * share * left_out)
    low = math.floor(projection.low * share - swing)
    high = math.ceil(projection.high * share + swing)
    count = round(projection.count * share)
    return Projection(projection.name, projection.found, count, max(0, low), high)


def _project(rehearsal: Rehearsal, name: str, count: int, settled: int) -> Projection:
    if not rehearsal.is_sample:
        return _exact(name, count, count)
    total = rehearsal.stands_for
    low, high = wilson(count, settled).counts(total)
    others = total - settled  # only their outcome is not known
    low, high = max(low, count), min(high, count + others)
    return Projection(name, count, round(total * count / settled) if settled else 0, low, high)


def _exact(name: str, found: int, count: int) -> Projection:
    most = max(1, math.ceil(TOLERANCE * count))
    return Projection(name, found, count, max(0, count - most), count + most)


def _subtract(projection: Projection, devices: int) -> Projection:
    counts = (projection.count, projection.low, projection.high)
    left = (max(0, count - devices) for count in counts)
    return Projection(projection.name, projection.found, *left)
