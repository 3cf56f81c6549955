"""How a worker takes a message: it drops what cannot be ours, and goes on.

Celery drops what its decoder refuses, and ends at any other error. Then Redis hands the message to
the next worker. One message made by hand would end all workers, each at its start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from celery.worker.consumer import Consumer

log = logging.getLogger(__name__)


class TolerantConsumer(Consumer):
    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]

    def create_task_handler(self, *given: Any, **more: Any) -> Callable[[Any], None]:
        take = super().create_task_handler(*given, **more)
        # These are errors of the broker: the worker connects again.
        not_the_messages: tuple[type[BaseException], ...]
        not_the_messages = (*self.connection_errors, *self.channel_errors, MemoryError)

        def taken(message: Any) -> None:
            try:
                _insist_on_its_shape(message.headers)
                take(message)
            except not_the_messages:
                raise
            except Exception as error:
                log.error("a message that is none of ours is dropped: %s", type(error).__name__)
                if not message.acknowledged:
                    message.reject()

        return taken


def _insist_on_its_shape(headers: Any) -> None:
    """Require a task and an id: without an id Celery takes a message, and never frees its place."""
    if not all(isinstance(headers[name], str) and headers[name] for name in ("task", "id")):
        raise TypeError("task and id must be texts")
