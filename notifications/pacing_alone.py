"""Without Redis: one process's share of a project's limits, until the gate answers again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings

BURST_SECONDS = 1.0
ASK_AGAIN = 1.0  # a Redis that hangs must not cost every window its timeout


@dataclass
class Bucket:
    at: float
    level: float = 0.0

    def fill(self, rate: float, now: float) -> float:
        passed = max(0.0, now - self.at)
        self.level = min(max(1.0, rate * BURST_SECONDS), self.level + passed * rate)
        self.at = now
        return self.level


@dataclass
class Share:
    """It starts empty whenever Redis is lost, and remembers a closure that the gate told of."""

    away: bool = False
    ask_at: float = 0.0
    closed_until: float = 0.0
    spent: int = 0  # without the gate's knowledge: told when Redis is back
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def lose_redis(self, now: float) -> None:
        self.away = True
        self.ask_at = now + ASK_AGAIN

    def find_redis(self) -> None:
        self.away = False
        self.spent = 0
        self.buckets.clear()

    def close(self, until: float) -> None:
        self.closed_until = max(self.closed_until, until)

    def take(self, wanted: int, rates: Mapping[str, float], now: float) -> int:
        if now < self.closed_until:
            return 0
        buckets = [self.buckets.setdefault(name, Bucket(now)) for name in rates]
        levels = [
            bucket.fill(rate / settings.WORKERS, now)
            for bucket, rate in zip(buckets, rates.values(), strict=True)
        ]
        granted = min(wanted, int(min(levels)))
        for bucket in buckets:
            bucket.level -= granted
        self.spent += granted
        return granted


_shares: dict[int, Share] = {}


def share_of(project_pk: int) -> Share:
    """This process's, for its whole life."""
    return _shares.setdefault(project_pk, Share())
