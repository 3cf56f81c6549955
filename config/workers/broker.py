"""Kombu's Redis broker, with two faults of it fixed.

A failed acknowledgement made a worker deaf. A worker holds a few messages and asks for the next
when one is acknowledged. If Redis does not take the acknowledgement (it hung, or restarted at that
moment), kombu logs it and never frees the message's place. With one place, the worker waits for
ever beside a full queue. Here the place is freed. Redis hands the message out again after the
visibility timeout, and running a task twice is harmless.

A text in a queue that is no message ended a worker. Here each text is checked as soon as Redis
gives it, before kombu notes it as held. What is dropped is stored nowhere, so no worker gets it
again.
"""

from __future__ import annotations

import logging
import pickle
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from kombu.transport import redis, virtual
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads
from redis import Redis

PRIORITY_STEPS = [0, 3, 6, 9]  # 0 is the most urgent, the reverse of RabbitMQ

log = logging.getLogger(__name__)
channel: Any = redis.Channel


class SafeAcknowledgement(redis.QoS):
    def ack(self, delivery_tag: Any) -> None:
        self._settle(super().ack, delivery_tag)

    def reject(self, delivery_tag: Any, requeue: bool = False) -> None:
        self._settle(super().reject, delivery_tag, requeue=requeue)

    def _settle(self, operation: Any, delivery_tag: Any, **options: Any) -> None:
        try:
            operation(delivery_tag, **options)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


class ValidatingRedis(Redis):
    """Drops texts that are no messages.

    To kombu a dropped text looks like an empty queue, and it asks again.
    """

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        read: Any = super().parse_response
        reply = read(connection, command_name, **options)
        if command_name == "BRPOP" and reply and not _is_a_message(*reply):
            return None
        return reply


def _is_a_message(queue: bytes, text: bytes) -> bool:
    try:
        _insist_on_its_shape(loads(bytes_to_str(text)))
    except (MemoryError, SoftTimeLimitExceeded):  # not caused by the text
        raise
    except Exception as error:
        name = bytes_to_str(queue).partition(channel.sep)[0]
        reason = type(error).__name__
        log.error("no message in %s: %d bytes are dropped (%s)", name, len(text), reason)
        return False
    return True


def _insist_on_its_shape(message: Any) -> None:
    """Check all that kombu uses of a message before the worker's own check, in the same way."""
    properties = message["properties"]
    properties["delivery_tag"].encode()
    way = properties["delivery_info"]
    if not (isinstance(way["exchange"], str) and isinstance(way["routing_key"], str)):
        raise TypeError("a way is two texts")
    if "consumer_tag" in way:
        raise ValueError("with the tag of another consumer it would never be acknowledged")
    if (message.get("headers") or {}).get("compression"):
        raise ValueError("ours are not compressed, and a small text may grow to gigabytes")
    if body := message.get("body"):
        channel.decode_body(channel, body, properties.get("body_encoding"))
    pickle.dumps(message)  # it takes half the depth, so what passes can be written as JSON


def patch_kombu() -> None:
    """Patch kombu's class, for every channel from now on.

    A transport of our own would lose what URLs say of TLS.
    """
    channel.QoS = SafeAcknowledgement
    channel._get_client = lambda _: ValidatingRedis
