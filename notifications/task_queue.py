"""Enqueueing Celery tasks. They carry ids; what is to be done stands in the rows.

A task that is lost with the broker costs seconds: the sweep enqueues it again. Running one twice,
late or never changes no result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from inspect import signature
from typing import Any, cast

from celery import Task, shared_task
from django.core.cache import cache
from django.db import transaction

from notifications.postgres.outage import DATABASE_TROUBLE
from notifications.tracing import tracing

log = logging.getLogger(__name__)

FLAG_SECONDS = 5
AHEAD = 3  # of 0 to 9, where 0 is first and 6 the default: before the chunks of a wave that wait
TIMER_SLACK = timedelta(milliseconds=50)  # timers are not exact, and early is too early

AnyTask = Task[Any, Any]


class NotEnqueued(Exception):
    """The broker did not take a task. The sweep enqueues it again."""


@contextmanager
def broker_errors() -> Iterator[None]:
    """Raise NotEnqueued for any error of the broker: it is away, full, refuses us, or its URL does
    not work. Celery, kombu and redis-py each have errors of their own for that.
    """
    try:
        with tracing.span("ring", "producer"):
            yield
    except Exception as error:
        raise NotEnqueued(f"{type(error).__name__}: {error}") from error


def publish(task: AnyTask, arguments: dict[str, int] | None = None, **options: Any) -> None:
    """Enqueue a task, with options of `apply_async`. Raises NotEnqueued."""
    if getattr(task, "in_slices", False):
        options["priority"] = AHEAD
    with broker_errors():
        task.apply_async(kwargs=arguments or {}, **options)


def enqueue(task: AnyTask, **arguments: int) -> None:
    """Enqueue a task. A broker that does not take it is logged: the sweep enqueues it again."""
    with _logged(task, arguments):
        publish(task, arguments)


def enqueue_on_commit(task: AnyTask, **arguments: int) -> None:
    """Enqueue a task as soon as the transaction commits."""
    transaction.on_commit(lambda: enqueue(task, **arguments))


@contextmanager
def _logged(task: AnyTask, arguments: dict[str, int]) -> Iterator[None]:
    try:
        yield
    except NotEnqueued as error:
        log.warning(
            "%s could not be enqueued, the sweep will: %s", _label(task.name, arguments), error
        )


def _label(name: str, arguments: dict[str, Any]) -> str:
    """Such as “advance run_id=5”."""
    return " ".join([name.rpartition(".")[2], *(f"{key}={arguments[key]}" for key in arguments)])


# --- One task for many callers --------------------------------------------------------------------


@dataclass(frozen=True)
class Flag:
    """Says that a task is enqueued and has not begun, so that callers need not enqueue it again.

    If the task is lost, its flag silences callers for FLAG_SECONDS.
    """

    key: str

    def set(self) -> bool:
        """Returns False if it was set already."""
        return cache.add(self.key, 1, timeout=FLAG_SECONDS)

    def clear(self) -> None:
        """Before the task reads the rows: callers that commit later enqueue it again."""
        with suppress(Exception):
            cache.delete(self.key)


def enqueue_once(task: AnyTask, flag: Flag, *, at: datetime | None = None) -> None:
    """Enqueue a task unless its flag is set; or for a later time, in any case."""
    with _logged(task, {}), broker_errors():
        if at is not None:
            task.apply_async(eta=at + TIMER_SLACK)
        elif flag.set():
            task.apply_async()


# --- Tasks that never raise -----------------------------------------------------------------------


def background_task(
    *, on_error: Callable[..., object] | None = None, in_slices: bool = False, **options: Any
) -> Callable[[Callable[..., object]], AnyTask]:
    """Declare a task that never raises: what is left undone stands in the rows.

    Trouble with PostgreSQL (a lock not granted, a restart) is logged, and the sweep enqueues the
    task again. After any other error, `on_error` is called with the task's id and the error.
    A task that works `in_slices` goes ahead of a wave's chunks: else each slice waits for them all.
    """

    def declare(work: Callable[..., object]) -> AnyTask:
        log = logging.getLogger(work.__module__)
        names = list(signature(work).parameters)

        @wraps(work)
        def run(*values: int, **arguments: int) -> None:
            arguments |= dict(zip(names, values, strict=False))
            try:
                work(**arguments)
            except DATABASE_TROUBLE as error:
                log.warning("%s was put off: %s", _label(work.__name__, arguments), error)
            except Exception as error:
                log.exception("%s failed", _label(work.__name__, arguments))
                if on_error is not None:
                    on_error(*arguments.values(), error)

        task: AnyTask = cast(Any, shared_task)(in_slices=in_slices, **options)(run)
        return task

    return declare
