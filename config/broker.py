"""Kombu's Redis broker, with one hole stopped: a failed acknowledgement made a worker deaf.

A worker holds a few messages and asks for the next when one is acknowledged. If Redis does not take
the acknowledgement (it hung, or restarted at that moment), kombu logs it and keeps the place taken
for ever; with one place, the worker waits for ever beside a full queue. Here the place is given
back. Redis hands the message out again after the visibility timeout, and ringing twice is harmless.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis, virtual

PRIORITY_STEPS = [0, 3, 6, 9]  # 0 is the most urgent, the reverse of RabbitMQ


class Places(redis.QoS):
    def ack(self, delivery_tag: Any) -> None:
        self._given_back(super().ack, delivery_tag)

    def reject(self, delivery_tag: Any, requeue: bool = False) -> None:
        self._given_back(super().reject, delivery_tag, requeue=requeue)

    def _given_back(self, say: Any, delivery_tag: Any, **how: Any) -> None:
        try:
            say(delivery_tag, **how)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


def stop_the_hole() -> None:
    """Of every channel from now on; a transport of our own would lose what URLs say of TLS."""
    redis.Channel.QoS = Places
