"""A request that collides with another one is tried again; the caller need not hear of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from rest_framework.response import Response

from notifications.postgres.outage import patiently

P = ParamSpec("P")


def patient(method: Callable[P, Response]) -> Callable[P, Response]:
    """A method whose one transaction, when PostgreSQL undoes it for another's sake, begins anew."""

    @wraps(method)
    def again(*args: P.args, **kwargs: P.kwargs) -> Response:
        return patiently(lambda: method(*args, **kwargs), seconds=0)

    return again
