"""Patience: repeats requests that collide in the database, and limits how many slow ones run.

The caller does not notice a repetition. Slow requests are refused while too many are running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from http import HTTPStatus
from typing import Any, ParamSpec

from rest_framework.response import Response

from notifications.api.base.problems import Problem
from notifications.api.base.view import ApiView
from notifications.postgres.budget import Busy, slow_query_slot
from notifications.postgres.outage import retry_during_outage

P = ParamSpec("P")
BUSY_SECONDS = 5  # the longest of them takes as long
BUSY = "Too many slow requests are running. Try again in a few seconds."


def patient(method: Callable[P, Response]) -> Callable[P, Response]:
    """Repeat a method if PostgreSQL aborted its transaction in favour of another one."""

    @wraps(method)
    def again(*args: P.args, **kwargs: P.kwargs) -> Response:
        return retry_during_outage(lambda: method(*args, **kwargs), seconds=0)

    return again


def slow(method: Callable[..., Response]) -> Callable[..., Response]:
    """Limit how many methods that may take seconds run at once, so that threads are left for other
    requests."""

    @wraps(method)
    def in_turn(view: ApiView, *args: Any, **kwargs: Any) -> Response:
        with refusing_when_busy(), slow_query_slot(view.project.pk):
            return method(view, *args, **kwargs)

    return in_turn


@contextmanager
def refusing_when_busy() -> Iterator[None]:
    try:
        yield
    except Busy as error:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, BUSY, kind="busy", retry_after=BUSY_SECONDS
        ) from error
