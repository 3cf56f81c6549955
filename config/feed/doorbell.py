"""Redis' doorbell, heard: whose inbox has changed. The rows are looked at without it, too, later."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable

from django.conf import settings
from redis import RedisError
from redis.asyncio import Redis

from notifications.inbox.doorbell import CHANNEL

AGAIN = 1.0  # seconds after Redis was away
QUIET = 5.0  # seconds without a ring, after which we ask whether anybody is there

log = logging.getLogger(__name__)
Ring = Callable[[Iterable[int]], None]


async def listen(ring: Ring, missed: Callable[[], None]) -> None:
    """For ever. `missed`: something may have been rung while nobody heard it."""
    is_away = False
    while True:
        try:
            async with Redis.from_url(
                settings.BROKER_URL, socket_timeout=QUIET, socket_connect_timeout=QUIET
            ) as redis:
                await _hear(redis, ring, missed)
        except (RedisError, OSError) as error:
            if not is_away:
                log.warning("no doorbell: rows are looked at without it meanwhile: %s", error)
            is_away = True
        await asyncio.sleep(AGAIN)


async def _hear(redis: Redis, ring: Ring, missed: Callable[[], None]) -> None:
    async with redis.pubsub() as bell:
        await bell.subscribe(CHANNEL)
        missed()
        asked = False
        while True:
            heard = await bell.get_message(ignore_subscribe_messages=False, timeout=QUIET)
            if heard is not None:
                asked = False
                if heard["type"] == "message":
                    ring(_people(heard["data"]))
            elif asked:
                raise RedisError("it hangs")
            else:
                asked = True
                await bell.ping()


def _people(said: bytes) -> list[int]:
    """Anybody who gets into Redis can write there."""
    try:
        named = json.loads(said)
    except (ValueError, RecursionError):
        return []
    return [one for one in named if type(one) is int] if isinstance(named, list) else []
