"""Share: one process's part of a project's limits, used while Redis is down."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings

from notifications.pacing.fcm_signals import AnswerCounts

BURST = 1.0  # seconds of the project's rate that its bucket holds
OWN_BURST, ALMOST_ONE = 0.25, 0.99  # the same for a run's own rate, as in the gate
ASK_AGAIN = 1.0  # seconds; a Redis that hangs must not cost every window its timeout
# As in `gate.lua`, which explains them.
FEW, RECENT, RELAPSE = 3, 1.0, 60.0
FIRST_GAP, LONGEST_GAP, NO_ANSWER, UNTRIED = 10.0, 60.0, 20.0, 1.0
JITTER = 0.1


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
class Health:
    """Decides whether FCM works, from the answers to this process. The gate does the same with the
    answers to all processes."""

    at: float = 0.0
    fine: float = 0.0
    failing: float = 0.0
    in_a_row: int = 0
    gap: float = 0.0
    tries_at: float = 0.0  # 0 while FCM works
    back_at: float = -math.inf

    @property
    def fails(self) -> bool:
        return self.tries_at > 0

    def believe(self, failing: bool, tries_at: float) -> None:
        """Take over the gate's view: it knows the answers to every process."""
        self.tries_at = tries_at if failing else 0.0

    def try_one(self, now: float) -> int:
        if now < self.tries_at:
            return 0
        self.tries_at = now + NO_ANSWER
        return 1

    def hear(self, heard: AnswerCounts, now: float) -> None:
        if heard.tried and self.fails:
            self._hear_of_try(heard, now)
        else:
            self._notice_outage(heard, now)

    def _hear_of_try(self, counts: AnswerCounts, now: float) -> None:
        if counts.failing:
            self.gap = min(LONGEST_GAP, max(FIRST_GAP, 2 * self.gap))
            self._try_later(counts, now)
        elif counts.answered + counts.pushed_back:
            self.tries_at, self.back_at = 0.0, now
            self.fine, self.failing, self.in_a_row = 0.0, 0.0, 0
        else:
            self.tries_at = now + UNTRIED

    def _notice_outage(self, counts: AnswerCounts, now: float) -> None:
        answers = counts.answered + counts.pushed_back
        faded = math.exp(min(0.0, self.at - now) / RECENT)
        self.at = now
        self.fine = self.fine * faded + answers
        self.failing = self.failing * faded + counts.failing
        self.in_a_row = 0 if answers else self.in_a_row + counts.failing
        if self.fails:
            self.tries_at = max(
                self.tries_at, now + counts.failing_for if counts.failing_for else 0
            )
        elif max(self.failing, self.in_a_row) >= FEW and self.failing > self.fine:
            again = now - self.back_at < RELAPSE
            self.gap = min(LONGEST_GAP, 2 * self.gap) if again else FIRST_GAP
            self._try_later(counts, now)

    def _try_later(self, counts: AnswerCounts, now: float) -> None:
        gap = self.gap * (1 + JITTER * random.random())
        self.tries_at = now + max(counts.failing_for, gap)


@dataclass
class Share:
    """One process's token buckets for a project. They start empty whenever Redis is lost, and keep
    a closure that the gate reported."""

    away: bool = False
    ask_at: float = 0.0
    closed_until: float = 0.0
    spent: int = 0  # sent without the gate; reported when Redis is back
    buckets: dict[str, Bucket] = field(default_factory=dict)
    health: Health = field(default_factory=Health)

    def lose_redis(self, now: float) -> None:
        self.away = True
        self.ask_at = now + ASK_AGAIN

    def find_redis(self) -> None:
        self.away = False
        self.spent = 0
        self.buckets.clear()

    def close(self, until: float) -> None:
        self.closed_until = max(self.closed_until, until)

    def take(self, wanted: int, now: float, *, full: float, own: Mapping[str, float]) -> int:
        """Return how many messages may leave: as many as the project's rate and each of the other
        limits (`own`: name and rate) allow."""
        if now < self.closed_until:
            return 0
        rate = full / settings.WORKERS
        levels = {"": self._bucket("", now).fill(rate, max(1.0, BURST * rate), now)}
        for name, its_own in own.items():
            rate = its_own / settings.WORKERS
            most = OWN_BURST * rate + ALMOST_ONE
            levels[name] = self._bucket(name, now).fill(rate, most, now)
        granted = max(0, min(wanted, int(min(levels.values()))))
        for name in levels:
            self.buckets[name].level -= granted
        self.spent += granted
        return granted

    def _bucket(self, name: str, now: float) -> Bucket:
        return self.buckets.setdefault(name, Bucket(now))


_shares: dict[str, Share] = {}


def share_of(gate: str) -> Share:
    """Return this process's share of a gate. It lives as long as the process."""
    return _shares.setdefault(gate, Share())
