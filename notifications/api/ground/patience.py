"""A request that collides with another one is tried again; the caller need not hear of it. One that
may take long is refused while too many like it are being answered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, ParamSpec

from rest_framework.response import Response

from notifications.api.ground.problems import Problem
from notifications.api.ground.view import ApiView
from notifications.postgres.budget import Busy, one_of_few
from notifications.postgres.outage import patiently

P = ParamSpec("P")
BUSY_SECONDS = 5  # as long as the longest of them takes
BUSY = "Other questions that take long are being answered. Ask again in some seconds."


def patient(method: Callable[P, Response]) -> Callable[P, Response]:
    """A method whose one transaction, when PostgreSQL undoes it for another's sake, begins anew."""

    @wraps(method)
    def again(*args: P.args, **kwargs: P.kwargs) -> Response:
        return patiently(lambda: method(*args, **kwargs), seconds=0)

    return again


def slow(method: Callable[..., Response]) -> Callable[..., Response]:
    """A method that may look at many people for seconds: never so many at once that the web server
    has no thread left for anybody else."""

    @wraps(method)
    def in_turn(view: ApiView, *args: Any, **kwargs: Any) -> Response:
        try:
            with one_of_few(view.project.pk):
                return method(view, *args, **kwargs)
        except Busy as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE, BUSY, kind="busy", retry_after=BUSY_SECONDS
            ) from error

    return in_turn
