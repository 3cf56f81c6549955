"""Refusals of the front: what each means, as a problem for programs or a sentence for people."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.translation import gettext

from config.front.environ import LONGEST as LONGEST_HEADER
from config.front.environ import with_body
from config.middleware.language import Language
from config.middleware.security import SecurityHeaders
from config.middleware.unavailable import FOR_PROGRAMS
from notifications.api.base import problems
from notifications.requests.counted_lines import LONGEST, Interval
from notifications.requests.origin import address_of
from notifications.requests.request_id import RequestId

log = logging.getLogger(__name__)
Answering = Callable[[HttpRequest], HttpResponse]


class Refused(Exception):
    """A request that is not let in. `said` is called in the caller's language."""

    status: HTTPStatus
    retry_after = 0
    kind = ""
    field = ""

    def text(self) -> str:
        raise NotImplementedError


class LargeBody(Refused):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

    def __init__(self, most: int, *, stranger: bool = False) -> None:
        self.most, self.stranger = most, stranger

    def text(self) -> str:
        if self.stranger:
            return gettext(
                "Without a log-in or an API key at most %(bytes)s bytes can be sent at once. "
                "Log in first, or send the key."
            ) % {"bytes": f"{self.most:,}"}
        return gettext(
            "At most %(bytes)s bytes can be sent at once. Send less, or send it in parts."
        ) % {"bytes": f"{self.most:,}"}


class SlowBody(Refused):
    status = HTTPStatus.REQUEST_TIMEOUT

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def text(self) -> str:
        return gettext(
            "The request had not arrived completely after %(seconds)s seconds, or other "
            "requests needed its place. Nothing was changed. Try again, with less at once "
            "if the connection is slow."
        ) % {"seconds": f"{self.seconds:g}"}


class Busy(Refused):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 2

    def text(self) -> str:
        return gettext("Too many requests are waiting. Nothing was changed. Try again in a moment.")


class Flooded(Refused):
    """More messages arrive than PostgreSQL can store. Nothing was done for this call."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    retry_after = 5
    kind = "flooded"

    def text(self) -> str:
        return gettext(
            "More messages arrive than can be stored. Nothing of this call was stored. Try again "
            "in %(seconds)s seconds, and send up to 1,000 in one call to messages/bulk."
        ) % {"seconds": self.retry_after}


class Away(Refused):
    """PostgreSQL is in trouble, and it may be unknown whether a call was stored."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 2

    def text(self) -> str:
        return str(problems.away().detail)


class NoText(Refused):
    status = HTTPStatus.BAD_REQUEST

    def text(self) -> str:
        return gettext(
            "The header Content-Type names a charset that cannot be read here. Send UTF-8."
        )


class LongHeader(Refused):
    status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE

    def __init__(self, name: str) -> None:
        self.field = name

    def text(self) -> str:
        return gettext(
            "The header %(name)s is longer than %(letters)s characters. Send a shorter one."
        ) % {"name": self.field, "letters": f"{LONGEST_HEADER:,}"}


class TwoKeys(Refused):
    """Two Idempotency-Key headers.

    Joined they would be a third key, which neither caller will send again.
    """

    status = HTTPStatus.BAD_REQUEST
    field = "Idempotency-Key"

    def text(self) -> str:
        return gettext("The header Idempotency-Key is given twice; give it once.")


class BrokeOff(Refused):
    """The caller has gone, or sends invalid chunks: the server does not say which."""

    status = HTTPStatus.BAD_REQUEST

    def text(self) -> str:
        return gettext(
            "The request was cut off, or its chunks do not have the lengths they declare. "
            "Nothing was changed. Send it again."
        )


class Failed(Refused):
    """An error of ours. The code that raises it has logged why."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR

    def text(self) -> str:
        return str(problems.ours().detail)


def answer(refused: Refused, environ: dict[str, Any]) -> HttpResponse:
    """The response to a refused request, in the caller's language and with the request's id.

    The rest of its body is not waited for.
    """

    def in_their_language(request: HttpRequest) -> HttpResponse:
        return cast(HttpResponse, Language(lambda inner: _render(refused, inner))(request))

    # Without its Content-Type, which may be what is wrong with the request.
    request = WSGIRequest(with_body({**environ, "CONTENT_TYPE": ""}, b""))
    response = RequestId(guarded(in_their_language))(request)
    response.headers["Connection"] = "close"
    return response


def guarded(answer: Answering) -> Answering:
    """Add the headers of every answer. It never redirects to https."""

    def guarded(request: HttpRequest) -> HttpResponse:
        framed = XFrameOptionsMiddleware(SecurityHeaders(answer))
        response = cast(HttpResponse, framed(request))
        return SecurityMiddleware(answer).process_response(request, response)

    return guarded


def _render(refused: Refused, request: HttpRequest) -> HttpResponse:
    if not isinstance(refused, Failed):
        _log_refusal(refused, request)
    if request.path.startswith(FOR_PROGRAMS):
        text, after = refused.text(), refused.retry_after
        errors = {refused.field: text} if refused.field else {}
        problem = problems.Problem(
            refused.status, text, kind=refused.kind, errors=errors, retry_after=after
        )
        return problems.outside(problem)
    response = HttpResponse(
        f"{refused.text()}\n", status=refused.status, content_type="text/plain; charset=utf-8"
    )
    if refused.retry_after:
        response.headers["Retry-After"] = str(refused.retry_after)
    return response


_lines = Interval()


def _log_refusal(refused: Refused, request: HttpRequest) -> None:
    skipped = _lines.count()
    if skipped is None:
        return
    log.warning(
        "refused with %d: %s %r from %s; %d others since the last such line",
        refused.status,
        request.method,
        request.path[:LONGEST],
        address_of(request),
        skipped,
    )
