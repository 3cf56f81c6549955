"""Request ids: the caller's own id if it is safe to log, else a new one.

Every answer contains it, and so do all log lines and audit entries of the request and of the tasks
that it enqueued. So a caller's complaint leads to the right lines.
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
    """Return the current request id. Empty outside of a request and its tasks, as in a command."""
    return _current.get()


def set_current(name: str) -> None:
    """Set the id of the request that enqueued this task, until the next task. Empty: none did."""
    _current.set(name if SANE.fullmatch(name) else "")


def name_of(meta: Mapping[str, Any]) -> str:
    given = meta.get(IN_META, "")
    return given if SANE.fullmatch(given) else uuid.uuid4().hex


class RequestId:
    """The outermost middleware: it gives every request and every answer an id."""

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
