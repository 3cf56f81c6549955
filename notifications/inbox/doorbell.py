"""Doorbell: tells the processes with open streams whose inbox has changed.

The rows are the truth. A ring that is lost costs nothing but time.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Sequence
from functools import cache

import redis
from django.conf import settings
from django.db import transaction
from redis.backoff import NoBackoff
from redis.retry import Retry

CHANNEL = "inbox"
AT_ONCE = 1_000  # people in one message
TIMEOUT = 0.5
RETRY_AFTER_SECONDS = 1.0  # a Redis that hangs must not cost every commit its timeout

log = logging.getLogger(__name__)


class _RedisPause:
    """Until when this process does not ask Redis."""

    until = 0.0


def ring_after_commit(contacts: Iterable[int]) -> None:
    """Ring for these people after the commit.

    If the process dies between the commit and the ring: they see it when they look next.
    """
    people = sorted(set(contacts))
    if people:
        transaction.on_commit(lambda: ring(people), robust=True)


def ring(contacts: Sequence[int]) -> None:
    if time.monotonic() < _RedisPause.until:
        return
    try:
        for start in range(0, len(contacts), AT_ONCE):
            _client().publish(CHANNEL, json.dumps(contacts[start : start + AT_ONCE]))
    except redis.RedisError as error:
        _RedisPause.until = time.monotonic() + RETRY_AFTER_SECONDS
        log.warning("The doorbell of the inbox is silent: %s", error)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.GATE_URL,  # a channel belongs to no database
        socket_timeout=TIMEOUT,
        socket_connect_timeout=TIMEOUT,
        # A connection that was closed while nobody rang is opened again, once.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
