"""Task queue: enqueues Celery tasks. Tasks carry only ids; the rows say what is to be done.

A task that is lost with the broker costs seconds: the sweep enqueues it again. A task that runs
twice, late or never does not change the result.
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
AHEAD = 3  # from 0 (first) to 9, default 6: ahead of the waiting chunks of a wave
TIMER_SLACK = timedelta(milliseconds=50)  # timers are not exact, and a task must not run early

AnyTask = Task[Any, Any]


class NotEnqueued(Exception):
    """The broker did not take a task. The sweep enqueues it again."""


@contextmanager
def broker_errors() -> Iterator[None]:
    """Raise NotEnqueued for any error of the broker: it is down, full, refuses us, or its URL does
    not work. Celery, kombu and redis-py each raise their own errors for that.
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
    with _log_failure(task, arguments):
        publish(task, arguments)


def enqueue_on_commit(task: AnyTask, **arguments: int) -> None:
    """Enqueue a task as soon as the transaction commits."""
    transaction.on_commit(lambda: enqueue(task, **arguments))


@contextmanager
def _log_failure(task: AnyTask, arguments: dict[str, int]) -> Iterator[None]:
    try:
        yield
    except NotEnqueued as error:
        log.warning(
            "%s could not be enqueued, the sweep will: %s", _label(task.name, arguments), error
        )


def _label(name: str, arguments: dict[str, Any]) -> str:
    """Format a task for the log, for example “advance run_id=5”."""
    return " ".join([name.rpartition(".")[2], *(f"{key}={arguments[key]}" for key in arguments)])


# --- One task for many callers --------------------------------------------------------------------


@dataclass(frozen=True)
class Flag:
    """Marks that a task is enqueued and has not started, so that callers do not enqueue it again.

    If the task is lost, its flag keeps callers from enqueueing it for FLAG_SECONDS.
    """

    key: str

    def set(self) -> bool:
        """Set the flag. Returns False if it was already set."""
        return cache.add(self.key, 1, timeout=FLAG_SECONDS)

    def clear(self) -> None:
        """Clear the flag. The task does it before it reads the rows, so that callers who commit
        later enqueue it again."""
        with suppress(Exception):
            cache.delete(self.key)


def enqueue_once(task: AnyTask, flag: Flag, *, at: datetime | None = None) -> None:
    """Enqueue a task unless its flag is set. With `at`, enqueue it for that time in any case."""
    with _log_failure(task, {}), broker_errors():
        if at is not None:
            task.apply_async(eta=at + TIMER_SLACK)
        elif flag.set():
            task.apply_async()


# --- Tasks that never raise -----------------------------------------------------------------------


def background_task(
    *, on_error: Callable[..., object] | None = None, in_slices: bool = False, **options: Any
) -> Callable[[Callable[..., object]], AnyTask]:
    """Declare a task that never raises: the rows show what is left to do.

    Errors of PostgreSQL (a lock that is not granted, a restart) are logged, and the sweep enqueues
    the task again. After any other error, `on_error` is called with the task's arguments and the
    error. A task that works `in_slices` runs ahead of a wave's chunks. Otherwise each slice would
    wait for all of them.
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
