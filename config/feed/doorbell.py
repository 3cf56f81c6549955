"""Listens on Redis for people whose inbox has changed. Without it rows are looked at later."""

from __future__ import annotations

import asyncio
import json
import logging

from django.conf import settings
from redis import RedisError
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from config.feed.streams import Streams
from notifications.inbox.doorbell import CHANNEL

AGAIN = 1.0  # seconds after Redis was away
QUIET = 5.0  # seconds without a ring, after which we ping Redis

log = logging.getLogger(__name__)


class Doorbell:
    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.is_away = False

    async def listen(self) -> None:
        """Listen for ever."""
        while True:
            try:
                await self._connected()
            except (RedisError, OSError) as error:
                if not self.is_away:
                    log.warning("the doorbell is silent; rows are looked at without it: %s", error)
                self.is_away = True
            await asyncio.sleep(AGAIN)

    async def _connected(self) -> None:
        broker = Redis.from_url(
            settings.BROKER_URL, socket_timeout=QUIET, socket_connect_timeout=QUIET
        )
        async with broker as redis, redis.pubsub() as bell:
            await bell.subscribe(CHANNEL)
            self.is_away = False
            self.streams.ring_all()  # earlier rings were lost
            await self._hear(bell)

    async def _hear(self, bell: PubSub) -> None:
        has_pinged = False
        while True:
            message = await bell.get_message(timeout=QUIET)
            if message is not None:
                has_pinged = False
                if message["type"] == "message":
                    self.streams.ring(_parse_people(message["data"]))
            elif has_pinged:
                raise RedisError("it hangs")
            else:
                has_pinged = True
                await bell.ping()


def _parse_people(payload: bytes) -> list[int]:
    """The people in a message, of any shape: anybody who gets into Redis can write there."""
    try:
        people = json.loads(payload)
    except (ValueError, RecursionError):
        return []
    return [person for person in people if type(person) is int] if isinstance(people, list) else []
