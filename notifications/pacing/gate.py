"""Gate: limits the send rate of all processes to a Firebase project. Each asks it once per window.

The gate itself is the Redis script `gate.lua`; this module calls it. Without Redis, each process
keeps to its own share (`share.py`), so the sum stays under the limit. The gate is never just open.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

from notifications.pacing.fcm_signals import LONGEST_CLOSURE, AnswerCounts
from notifications.pacing.share import share_of
from notifications.people.project import Project

COLD = 0.05  # share of the full rate at which a ramp begins
HEADROOM = 0.8  # consoles and other products use the quota, too, and FCM's minute is not ours
WAIT_ALONE = 0.1
SCRIPT = Path(__file__).with_name("gate.lua").read_text()

logger = logging.getLogger(__name__)

Clock = Callable[[], float]


class Limit(StrEnum):
    """What limits the rate at the moment. The script uses the same names."""

    QUOTA = "quota"
    RATE = "rate"  # the run's own
    RAMP = "ramp"  # from a cold start to the full rate
    RETRY_AFTER = "retry_after"  # closed: FCM said when to come back
    FAILING = "failing"  # FCM fails or cannot be reached: one message at a time tests if it is back
    REOPENING = "reopening"  # climbing again after it was closed
    SLOWED = "slowed"  # FCM refused or failed too often
    SHARED = "shared"  # with other runs of the project
    LOAD = "load"  # the project's own servers report that they are busy
    LOCAL = "local"  # Redis is down
    WORKERS = "workers"  # the gate would allow more than the workers ask for
    REST = "rest"  # no process asked lately


@dataclass(frozen=True)
class Grant:
    """How many messages may leave now; if none, how many seconds to wait before asking again.

    The wait is longer than a second only while the gate is closed.
    """

    granted: int
    wait: float
    limit: Limit

    @property
    def is_trial(self) -> bool:
        """Whether this is the one message that tests if FCM is back. The next `take` must report
        its answer."""
        return self.granted > 0 and self.limit is Limit.FAILING


@dataclass(frozen=True)
class PaceNow:
    """The rate that the gate allows now, what limits it, and until when if that is known."""

    rate_per_second: float
    limit: Limit
    until: datetime | None = None


class Gate:
    """One sender's client of the project's gate. For the main thread only; it never waits."""

    def __init__(
        self,
        project: Project,
        *,
        reference: str,
        rate: float | None = None,
        safe: float | None = None,
        lane: str = "bulk",
        clock: Clock | None = None,  # only tests pass one; else Redis' time counts
    ) -> None:
        self.project = project
        self.reference = reference
        self.rate = rate
        self.safe = safe  # the rate that the project's servers can take, from all senders together
        self.lane = lane
        self.clock = clock
        self._share = share_of(_key(project))
        self._untold = AnswerCounts()
        self._tried = False  # whether our last message was a trial

    def take(self, wanted: int, heard: AnswerCounts, *, idle: bool = True) -> Grant:
        """Report the answers since the last call, and ask to send `wanted` messages.

        Not `idle`: requests are under way whose answers could be mistaken for a trial's.
        """
        heard = replace(heard, tried=self._tried)
        self._untold += heard
        if heard.closes_for:
            self._share.close(self._clock() + heard.closes_for)
        grant = self._by_the_gate(wanted, idle) or self._alone(wanted, idle, heard)
        self._tried = grant.is_trial
        return grant

    def _by_the_gate(self, wanted: int, idle: bool) -> Grant | None:
        """Ask the gate in Redis. None: Redis is down."""
        share = self._share
        if share.away and self._clock() < share.ask_at:
            return None
        question = self._question(wanted, idle)
        try:
            granted, wait, limit, _, _ = _ask(self.project, question, timeout=1.0)
        except redis.RedisError as error:
            if not share.away:
                logger.warning("Sending at this process's share: no gate in Redis. %s", error)
            share.lose_redis(self._clock())
            return None
        self._untold = AnswerCounts()
        share.find_redis()
        if limit is Limit.RETRY_AFTER:
            share.close(self._clock() + wait)
        share.health.believe(limit is Limit.FAILING, self._clock() + wait)
        return Grant(granted, wait, limit)

    def _question(self, wanted: int, idle: bool) -> dict[str, Any]:
        counts = self._untold
        return _question(self.project, self.reference, self.rate, self.safe, self.clock) | {
            "wanted": wanted,
            "idle": idle,
            "urgent": self.lane == "urgent",
            "answered": counts.answered,
            "pushed_back": counts.pushed_back,
            "failing": counts.failing,
            "failing_for": min(counts.failing_for, LONGEST_CLOSURE),
            "tried": counts.tried,
            "closes_for": counts.closes_for,
            "spent": self._share.spent,
            "random": random.random(),  # Lua's random numbers have the same seed at every call
        }

    def _alone(self, wanted: int, idle: bool, counts: AnswerCounts) -> Grant:
        now, health = self._clock(), self._share.health
        health.hear(counts, now)
        if health.fails and now >= self._share.closed_until:
            granted = health.try_one(now) if wanted and idle else 0
            return Grant(granted, max(WAIT_ALONE, health.tries_at - now), Limit.FAILING)
        limits = {self.reference: self.rate, _load_key(self.project): self.safe}
        own = {name: float(rate) for name, rate in limits.items() if rate}
        granted = self._share.take(wanted, now, full=full_rate(self.project), own=own)
        return Grant(granted, max(WAIT_ALONE, self._share.closed_until - now), Limit.LOCAL)

    def _clock(self) -> float:
        return self.clock() if self.clock else time.monotonic()


def full_rate(project: Project) -> float:
    """Return the messages per second that the quota allows when nothing else limits them."""
    return project.lowest_quota * HEADROOM / 60


def cold_rate(project: Project) -> float:
    """Return the rate at which a ramp begins. It lets the first message leave without a wait."""
    return min(full_rate(project), max(1.0, COLD * full_rate(project)))


def pace_of(
    project: Project,
    reference: str,
    rate: float | None,
    *,
    safe: float | None = None,
    clock: Clock | None = None,
) -> PaceNow:
    """Return what the gate allows now, for a page. This takes nothing from the gate, and shows when
    Redis is down."""
    question = _question(project, reference, rate, safe, clock)
    try:
        _, _, limit, allowed, until = _ask(project, question, timeout=0.25)
    except redis.RedisError:
        limits = [limit for limit in (full_rate(project), rate, safe) if limit]
        return PaceNow(min(limits), Limit.LOCAL)
    return PaceNow(allowed, limit, datetime.fromtimestamp(until, UTC) if until else None)


def _question(
    project: Project,
    reference: str,
    rate: float | None,
    safe: float | None,
    clock: Clock | None,
) -> dict[str, Any]:
    question = {
        "reference": reference,
        "full": full_rate(project),
        "floor": cold_rate(project),
        "ramp": project.longest_ramp,
        "own": rate or None,
        "safe": safe or None,
        "now": clock() if clock else None,
    }
    return {name: value for name, value in question.items() if value is not None}


def _key(project: Project) -> str:
    """Return the gate's key. FCM's quota belongs to the Firebase project, so all our projects that
    send to it share one gate."""
    target = f"{project.endpoint} {project.firebase_project_id}"
    return f"gate:{sha256(target.encode()).hexdigest()}"


def _load_key(project: Project) -> str:
    """Return the key of the load limit. Each of our projects has its own servers, even if several
    send to the same Firebase project."""
    return f"load:{project.pk}"


def _ask(
    project: Project, question: dict[str, Any], *, timeout: float
) -> tuple[int, float, Limit, float, float]:
    """Run `gate.lua`. Returns (granted, wait, limit, rate allowed now, end of the limit or 0)."""
    answer = _script(timeout)(keys=[_key(project), _load_key(project)], args=[json.dumps(question)])
    granted, wait, limit, rate, until = answer
    return int(granted), float(wait), Limit(limit.decode()), float(rate), float(until or 0)


@cache
def _script(timeout: float) -> Script:
    client = redis.Redis.from_url(
        settings.GATE_URL,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        # By default the client retries for seconds. One retry is enough: for a socket that died.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
    return client.register_script(SCRIPT)
