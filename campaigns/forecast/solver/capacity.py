"""Capacity: the rate that a project's gate gives one run, from a cold start and beside other runs.

It computes as `notifications/pacing/gate.lua` does: the rate climbs while messages are sent, and
falls as fast as it rose. Beside other runs, a run gets an equal part, or what they leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

SECOND = 1_000_000  # microseconds: all instants are whole ones, so that a bound is never rounded
STEP = SECOND // 10  # a climbing rate counts as constant for this long


@dataclass(frozen=True)
class Other:
    """Another run that is planned for the same time, and the rate that it asks for."""

    begins: datetime
    ends: datetime
    rate: float


@dataclass(frozen=True)
class Capacity:
    """The rates that limit a run, in messages a second."""

    full: float  # what the project may send, for all its runs
    most: float | None = None  # the run's own rate, or what its workers can do; None: no limit
    cold: float | None = None  # the rate at the start; None: the full rate at once
    climb: float = 0.0  # gained each second
    others: tuple[Other, ...] = ()

    def __post_init__(self) -> None:
        if self.full <= 0 or (self.most is not None and self.most <= 0):
            raise ValueError("A capacity of nothing: rates are above 0.")
        if self.cold is not None and not (self.cold > 0 and self.climb > 0):
            raise ValueError("A cold start needs a rate to begin with and a climb, both above 0.")


class Pace:
    """A capacity as time passes. Time only moves forward."""

    def __init__(self, capacity: Capacity, start: datetime) -> None:
        self._of = capacity
        cold = capacity.full if capacity.cold is None else min(capacity.cold, capacity.full)
        self._cold = self._level = cold
        self._others = [
            (
                _microseconds_since(start, other.begins),
                _microseconds_since(start, other.ends),
                other.rate,
            )
            for other in capacity.others
        ]
        self._turns = sorted({at for begins, ends, _ in self._others for at in (begins, ends)})

    def gap(self, now: float) -> tuple[float, float]:
        """Return the gap between two messages, and until when it holds. In microseconds, as all
        times here."""
        rate, until = self._share(now), self._next_turn(now)
        gap = SECOND / min(rate, self._of.most or rate)
        if self._level < self._of.full:
            step = max(STEP, gap)
            self._level = min(self._of.full, self._level + self._of.climb * step / SECOND)
            until = min(until, now + step)
        return gap, until

    def rest(self, passed: float) -> None:
        """Let the rate fall, because nothing was sent for this long."""
        self._level = max(self._cold, self._level - self._of.climb * passed / SECOND)

    def _share(self, now: float) -> float:
        other_rates = [rate for begins, ends, rate in self._others if begins <= now < ends]
        return max(self._level / (len(other_rates) + 1), self._level - sum(other_rates))

    def _next_turn(self, now: float) -> float:
        return next((float(at) for at in self._turns if at > now), float("inf"))


def _microseconds_since(start: datetime, at: datetime) -> int:
    return (at - start) // timedelta(microseconds=1)
