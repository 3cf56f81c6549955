"""Without Redis: one process's share of a project's limits, until the gate answers again."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.conf import settings

BURST = 1.0  # seconds of the project's rate that its bucket holds
OWN_BURST, ALMOST_ONE = 0.25, 0.99  # and of a run's own rate, as in the gate
ASK_AGAIN = 1.0  # a Redis that hangs must not cost every window its timeout


@dataclass
class Bucket:
    at: float
    level: float = 0.0

    def fill(self, rate: float, most: float, now: float) -> float:
        passed = max(0.0, now - self.at)
        self.level = min(most, self.level + passed * rate)
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

    def take(self, wanted: int, now: float, *, full: float, own: tuple[str, float] | None) -> int:
        """As many as the project's rate allows, and the run's `own`: its name and its rate."""
        if now < self.closed_until:
            return 0
        rate = full / settings.WORKERS
        levels = {"": self._bucket("", now).fill(rate, max(1.0, BURST * rate), now)}
        if own:
            name, rate = own[0], own[1] / settings.WORKERS
            most = OWN_BURST * rate + ALMOST_ONE
            levels[name] = self._bucket(name, now).fill(rate, most, now)
        granted = max(0, min(wanted, int(min(levels.values()))))
        for name in levels:
            self.buckets[name].level -= granted
        self.spent += granted
        return granted

    def _bucket(self, name: str, now: float) -> Bucket:
        return self.buckets.setdefault(name, Bucket(now))


_shares: dict[int, Share] = {}


def share_of(project_pk: int) -> Share:
    """This process's, for its whole life."""
    return _shares.setdefault(project_pk, Share())
