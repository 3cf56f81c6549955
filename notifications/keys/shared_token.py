"""An account's OAuth token in Redis: minted by one process, used by all.

Every step is one script, by Redis' clock. Only the holder of the lock mints; the lock runs out by
itself, so a process killed while it mints delays the others by seconds and stops nobody. The token
is sealed: whoever reads Redis cannot send with it.
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

REFRESH_AT = 0.8  # of a token's life: the old one still works while the new one is fetched
LOCK_SECONDS = 8.0  # a mint takes well under one; the longest it may wait for an answer is 5
TROUBLE_SECONDS = 5.0  # for so long, what one process met at the token endpoint speaks for all

# KEYS: entry, lock, trouble. ARGV: the generation that is of no use any more, our name, lock's ms.
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
# KEYS as above. ARGV: our name, what is the trouble, for how many ms.
GIVE_UP = """
if redis.call('GET', KEYS[2]) == ARGV[1] then
  redis.call('DEL', KEYS[2])
  redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
end
"""


class Turn(StrEnum):
    """What to do after a look."""

    FOUND = "found"  # the token is fresh
    MINT = "mint"  # we hold the lock
    WAIT = "wait"  # another process holds it
    TROUBLE = "trouble"  # another process tried, a moment ago


@dataclass(frozen=True, slots=True)
class Held:
    """A token somebody minted. Generations only grow, even past a flush: they hold the time."""

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
        """The token, if there is one of a later generation than `after`; and whose turn it is."""
        arguments = [after, self._holder, _milliseconds(LOCK_SECONDS)]
        reply = _scripts().look(keys=self._keys, args=arguments)
        held = self._open(*reply[3:]) if len(reply) > 3 else None
        if held is None and len(reply) > 3:  # sealed with a key this process does not have
            return self.look(int(reply[3]))
        return Look(Turn(reply[0].decode()), reply[1].decode(), int(reply[2]), held)

    def keep(self, generation: int, minted: Minted) -> None:
        """Hand the token to all, unless a later one is there, and let the lock go."""
        sealed = sealing.seal(minted.token.encode(), about=self._about(generation))
        life = [_milliseconds(minted.seconds * REFRESH_AT), max(1, _milliseconds(minted.seconds))]
        _scripts().keep(keys=self._keys, args=[self._holder, generation, sealed, *life])

    def give_up(self, trouble: str) -> None:
        """Let the lock go, and spare the others the same try for a moment."""
        arguments = [self._holder, trouble, _milliseconds(TROUBLE_SECONDS)]
        _scripts().give_up(keys=self._keys, args=arguments)

    def _open(self, generation: bytes, sealed: bytes, refresh_in: int, ends_in: int) -> Held | None:
        number = int(generation)
        try:
            token = sealing.unseal(sealed, about=self._about(number)).decode()
        except sealing.Unsealable:
            return None
        return Held(number, token, refresh_in / 1000, ends_in / 1000)

    def _about(self, generation: int) -> str:
        return f"{self._name}:{generation}"


@dataclass(frozen=True)
class Scripts:
    look: Any
    keep: Any
    give_up: Any


@cache
def _scripts() -> Scripts:
    """Made at the first use, hence after the fork. One try: without Redis one mints alone."""
    client = redis.Redis.from_url(
        settings.GATE_URL,
        socket_timeout=1,
        socket_connect_timeout=1,
        retry=Retry(NoBackoff(), 0),
    )
    return Scripts(*(client.register_script(script) for script in (LOOK, KEEP, GIVE_UP)))


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
