"""Shared token: an account's OAuth token in Redis, minted by one process and used by all.

Every step is one script, by Redis' clock. Only the holder of the lock mints. The lock expires by
itself: if a process dies while it mints, the others wait for seconds at most. The token is
encrypted, so reading Redis is not enough to send with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from notifications.keys import sealing
from notifications.keys.minting import Minted

REFRESH_AT = 0.8  # share of a token's life: the old one still works while a new one is fetched
LOCK_SECONDS = 8.0  # minting takes well under one second; it waits up to 5 for an answer
TROUBLE_SECONDS = 5.0  # for so long, one process's error at the token endpoint counts for all

# KEYS: entry, lock, trouble. ARGV: the last generation that is useless, our name, lock's ms.
LOOK = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entry = redis.call('HMGET', KEYS[1], 'generation', 'sealed', 'refresh_at', 'expires_at')
local generation, after = tonumber(entry[1] or 0), tonumber(ARGV[1])
local reply = {'', '', string.format('%.0f', math.max(now, generation + 1, after + 1))}
local refresh_in = tonumber(entry[3] or 0) - now
local expires_in = tonumber(entry[4] or 0) - now
if generation > after and expires_in > 0 then
  reply[4], reply[5], reply[6], reply[7] = entry[1], entry[2], refresh_in, expires_in
  if refresh_in > 0 then
    reply[1] = 'found'
    return reply
  end
end
local trouble = redis.call('GET', KEYS[3])
if trouble then
  reply[1], reply[2] = 'trouble', trouble
elseif redis.call('GET', KEYS[2]) == ARGV[2]
    or redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then
  reply[1] = 'mint'
else
  reply[1] = 'wait'
end
return reply
"""
# KEYS as above. ARGV: our name, generation, sealed token, ms until its refresh, ms until its end.
KEEP = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = tonumber(redis.call('HGET', KEYS[1], 'generation') or 0)
if kept < tonumber(ARGV[2]) then  -- else we slept past our lock, and another was faster
  redis.call('HSET', KEYS[1], 'generation', ARGV[2], 'sealed', ARGV[3],
    'refresh_at', string.format('%.0f', now + ARGV[4]),
    'expires_at', string.format('%.0f', now + ARGV[5]))
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
"""
# KEYS as above. ARGV: our name, the error, for how many ms it counts.
GIVE_UP = """
if redis.call('GET', KEYS[2]) == ARGV[1] then
  redis.call('DEL', KEYS[2])
  redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
end
"""


class Turn(StrEnum):
    """What a process has to do after it looked for the shared token."""

    FOUND = "found"  # the token is fresh
    MINT = "mint"  # we hold the lock
    WAIT = "wait"  # another process holds it
    TROUBLE = "trouble"  # another process tried, a moment ago


@dataclass(frozen=True, slots=True)
class Held:
    """A minted token. Generations only grow, even after Redis is flushed: they contain the time."""

    generation: int
    token: str
    refresh_in: float
    expires_in: float


@dataclass(frozen=True, slots=True)
class Look:
    turn: Turn
    trouble: str
    next_generation: int
    held: Held | None


class SharedToken:
    def __init__(self, name: str, *, holder: str) -> None:
        self._name = f"token:{name}"
        self._keys = [self._name, f"{self._name}:lock", f"{self._name}:trouble"]
        self._holder = holder

    def look(self, after: int) -> Look:
        """Look for a token of a later generation than `after`, and whose turn it is to mint."""
        arguments = [after, self._holder, _milliseconds(LOCK_SECONDS)]
        reply = _scripts().look(keys=self._keys, args=arguments)
        token = self._open(*reply[3:]) if len(reply) > 3 else None
        if token is None and len(reply) > 3:  # sealed with a key this process does not have
            return self.look(int(reply[3]))
        return Look(Turn(reply[0].decode()), reply[1].decode(), int(reply[2]), token)

    def keep(self, generation: int, minted: Minted) -> None:
        """Store the token for all, unless there is a later one, and release the lock."""
        sealed = sealing.seal(minted.token.encode(), about=self._seal_purpose(generation))
        life = [_milliseconds(minted.seconds * REFRESH_AT), max(1, _milliseconds(minted.seconds))]
        _scripts().keep(keys=self._keys, args=[self._holder, generation, sealed, *life])

    def give_up(self, trouble: str) -> None:
        """Release the lock, and keep other processes from the same failing try for a moment."""
        arguments = [self._holder, trouble, _milliseconds(TROUBLE_SECONDS)]
        _scripts().give_up(keys=self._keys, args=arguments)

    def _open(self, generation: bytes, sealed: bytes, refresh_in: int, ends_in: int) -> Held | None:
        number = int(generation)
        try:
            token = sealing.unseal(sealed, about=self._seal_purpose(number)).decode()
        except sealing.Unsealable:
            return None
        return Held(number, token, refresh_in / 1000, ends_in / 1000)

    def _seal_purpose(self, generation: int) -> str:
        return f"{self._name}:{generation}"


@dataclass(frozen=True)
class Scripts:
    look: Any
    keep: Any
    give_up: Any


@cache
def _scripts() -> Scripts:
    """Create the client at its first use, so after the fork. It does not retry: without Redis, each
    process mints alone."""
    client = redis.Redis.from_url(
        settings.GATE_URL,
        socket_timeout=1,
        socket_connect_timeout=1,
        retry=Retry(NoBackoff(), 0),
    )
    return Scripts(*(client.register_script(script) for script in (LOOK, KEEP, GIVE_UP)))


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
