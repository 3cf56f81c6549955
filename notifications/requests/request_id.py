"""The id of a request: the caller's own if a log can carry it, else one made here.

It goes out with every answer, and stands in every line that is logged and every entry that the
audit trail keeps while answering, and in those of the tasks that the request rang: so a program's
complaint finds its lines.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-ID"
IN_META = "HTTP_X_REQUEST_ID"
LONGEST = 128
SANE = re.compile(rf"[A-Za-z0-9._:/+=@-]{{1,{LONGEST}}}")

_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """Empty outside of a request and of a task that one rang, as in a command."""
    return _current.get()


def carry_on(name: str) -> None:
    """In a task that this request rang, or none: until the next task."""
    _current.set(name if SANE.fullmatch(name) else "")


def name_of(meta: Mapping[str, Any]) -> str:
    given = meta.get(IN_META, "")
    return given if SANE.fullmatch(given) else uuid.uuid4().hex


class RequestId:
    """Middleware, the outermost: no answer leaves without it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META[IN_META] = name = name_of(request.META)
        token = _current.set(name)
        try:
            response = self.get_response(request)
        finally:
            _current.reset(token)
        response[HEADER] = name
        return response
