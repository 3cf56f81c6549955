"""The pace: one gate in Redis for all processes, asked once per window.

Each limit is a token bucket: the project's quota (we use 80 % of it) and, below it, the run's own
rate. Redis lost: every process falls back to its own share, so the sum stays under the limit; the
gate is never simply open. After a flush a bucket starts empty, not full.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache

import redis
from django.conf import settings

from notifications.project import Project

HEADROOM = 0.8  # consoles and other products share the quota, and FCM's minute is not ours
BURST_SECONDS = 1.0
LONGEST_WAIT = 1.0  # a waiting sender looks at pause and lease at least this often

# KEYS: one bucket each. ARGV: wanted, then rate and burst per bucket. Redis' clock, not ours.
GRANT = """
local now = redis.call('TIME')
now = now[1] + now[2] / 1000000
local granted = tonumber(ARGV[1])
local levels = {}
for i, key in ipairs(KEYS) do
  local rate, burst = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local bucket = redis.call('HMGET', key, 'level', 'at')
  local level = tonumber(bucket[1]) or 0
  local at = tonumber(bucket[2]) or now
  levels[i] = math.min(burst, level + math.max(0, now - at) * rate)
  granted = math.min(granted, math.floor(levels[i]))
end
granted = math.max(0, granted)
local wait = 0
for i, key in ipairs(KEYS) do
  local rate = tonumber(ARGV[2 * i])
  redis.call('HSET', key, 'level', tostring(levels[i] - granted), 'at', tostring(now))
  redis.call('EXPIRE', key, 3600)
  if granted == 0 then wait = math.max(wait, (1 - levels[i]) / rate) end
end
return {granted, tostring(wait)}
"""


@dataclass(frozen=True)
class Limit:
    """A bucket's name and its rate in messages per second."""

    name: str
    rate: float

    @property
    def burst(self) -> float:
        return max(1.0, self.rate * BURST_SECONDS)


@dataclass
class LocalBucket:
    """One process's share of a limit, for as long as Redis is away."""

    level: float = 0.0
    at: float = field(default_factory=time.monotonic)

    def grant(self, wanted: int, *, rate: float, now: float) -> int:
        self.level = min(max(1.0, rate), self.level + (now - self.at) * rate)
        self.at = now
        granted = min(wanted, int(self.level))
        self.level -= granted
        return granted


_local: dict[str, LocalBucket] = {}


def limits_of(project: Project, *, reference: str, rate: float | None) -> list[Limit]:
    limits = [Limit(f"gate:project:{project.pk}", project.quota_per_minute * HEADROOM / 60)]
    if rate:
        limits.append(Limit(f"gate:{reference}", rate))
    return limits


def take(wanted: int, limits: list[Limit]) -> tuple[int, float]:
    """(how many may leave now, seconds to wait when none may)."""
    try:
        arguments = [value for limit in limits for value in (limit.rate, limit.burst)]
        granted, wait = _script()(keys=[limit.name for limit in limits], args=[wanted, *arguments])
        return int(granted), min(float(wait), LONGEST_WAIT)
    except redis.RedisError:
        return _take_locally(wanted, limits), 0.1


def _take_locally(wanted: int, limits: list[Limit]) -> int:
    now = time.monotonic()
    for limit in limits:
        bucket = _local.setdefault(limit.name, LocalBucket(at=now))
        wanted = bucket.grant(wanted, rate=limit.rate / settings.WORKERS, now=now)
    return wanted


@cache
def _script() -> redis.commands.core.Script:
    client = redis.Redis.from_url(settings.GATE_URL, socket_timeout=1, socket_connect_timeout=1)
    return client.register_script(GRANT)
