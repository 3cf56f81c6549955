"""How fast: what the gate of a project lets one run have, from a cold start and beside others.

It computes as `notifications/pacing/gate.lua` does: the rate climbs while messages are sent and
falls as it rose. A run gets an equal part of it beside others, or what they leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

SECOND = 1_000_000  # microseconds: all instants are whole ones, so that a bound is never rounded
STEP = SECOND // 10  # for so long a rate that climbs counts as even


@dataclass(frozen=True)
class Other:
    """A run that is planned in the same time, and what it asks for."""

    begins: datetime
    ends: datetime
    rate: float


@dataclass(frozen=True)
class Capacity:
    """Messages a second."""

    full: float  # that the project may send, whoever asks
    most: float | None = None  # the run's own rate, or what its workers can do; None: no less
    cold: float | None = None  # where it begins; None: at once at the full rate
    climb: float = 0.0  # gained each second
    others: tuple[Other, ...] = ()

    def __post_init__(self) -> None:
        if self.full <= 0 or (self.most is not None and self.most <= 0):
            raise ValueError("A capacity of nothing: rates are above 0.")
        if self.cold is not None and not (self.cold > 0 and self.climb > 0):
            raise ValueError("A cold start needs a rate to begin with and a climb, both above 0.")


class Pace:
    """The same as time passes, which it only does forwards."""

    def __init__(self, capacity: Capacity, start: datetime) -> None:
        self._of = capacity
        cold = capacity.full if capacity.cold is None else min(capacity.cold, capacity.full)
        self._cold = self._level = cold
        self._others = [
            (_since(start, one.begins), _since(start, one.ends), one.rate)
            for one in capacity.others
        ]
        self._turns = sorted({at for begins, ends, _ in self._others for at in (begins, ends)})

    def gap(self, now: float) -> tuple[float, float]:
        """Between two messages, and until when that is so. In microseconds, as all here."""
        rate, until = self._share(now), self._next_turn(now)
        gap = SECOND / min(rate, self._of.most or rate)
        if self._level < self._of.full:
            step = max(STEP, gap)
            self._level = min(self._of.full, self._level + self._of.climb * step / SECOND)
            until = min(until, now + step)
        return gap, until

    def rest(self, passed: float) -> None:
        """Nobody sent for so long."""
        self._level = max(self._cold, self._level - self._of.climb * passed / SECOND)

    def _share(self, now: float) -> float:
        asked = [rate for begins, ends, rate in self._others if begins <= now < ends]
        return max(self._level / (len(asked) + 1), self._level - sum(asked))

    def _next_turn(self, now: float) -> float:
        return next((float(at) for at in self._turns if at > now), float("inf"))


def _since(start: datetime, at: datetime) -> int:
    return (at - start) // timedelta(microseconds=1)
