"""What Redis does not hear costs a worker nothing but that."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from kombu import Connection

from config.celery import app
from tests.servers.relay import Relay

QUEUE = "a-queue-of-the-tests"


@pytest.fixture
def relay() -> Iterator[Relay]:
    """The way to Redis. A server that is made to wait itself would keep other lanes waiting."""
    relay = Relay(urlsplit(settings.BROKER_URL).port or 0)
    yield relay
    relay.stop()


@pytest.fixture
def broker(relay: Relay) -> Iterator[Connection]:
    """As a worker is connected, only less patient."""
    url = urlsplit(settings.BROKER_URL)
    there = f"{url.netloc.rpartition('@')[0]}@127.0.0.1:{relay.port}"
    options = {**app.conf.broker_transport_options, "socket_timeout": 0.3}
    address = url._replace(netloc=there).geturl()
    with app.connection_for_read(address, transport_options=options) as connection:
        yield connection


@pytest.mark.parametrize("say", ["ack", "reject"])
def test_a_worker_that_redis_did_not_hear_takes_the_next_message(
    broker: Connection, relay: Relay, say: str
) -> None:
    queue = broker.SimpleQueue(QUEUE)
    queue.consumer.qos(prefetch_count=1)
    queue.clear()
    for number in (1, 2):
        queue.put({"number": number})
    first: Any = queue.get(timeout=5)
    assert first.payload == {"number": 1}

    relay.cut()
    errors = broker.connection_errors + broker.channel_errors
    getattr(first, f"{say}_log_error")(logging.getLogger(__name__), errors)
    relay.mend()

    second: Any = queue.get(timeout=5)
    assert second.payload == {"number": 2}
    second.ack()


@pytest.mark.parametrize(
    ("place", "trouble"),
    [
        ("config.workers.broker.loads", MemoryError),
        ("config.workers.broker.loads", SoftTimeLimitExceeded),
        ("redis.Redis.parse_response", redis.ConnectionError),
        ("redis.Redis.parse_response", redis.ResponseError),
    ],
)
def test_trouble_that_is_not_the_messages_is_not_taken_for_its_fault(
    broker: Connection, monkeypatch: pytest.MonkeyPatch, place: str, trouble: type[Exception]
) -> None:
    queue = broker.SimpleQueue(QUEUE)
    queue.clear()
    queue.put({"number": 1})

    def raises(*_: Any, **__: Any) -> None:
        raise trouble

    with monkeypatch.context() as patched, pytest.raises(trouble):
        patched.setattr(place, raises)
        queue.get(timeout=5)
