"""`Idempotency-Key`: the header for every request that creates, changes or sends something."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, TypeVar

import orjson
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base import query
from notifications.api.base.problems import Problem
from notifications.api.base.rendering import as_json
from notifications.api.base.view import ApiView
from notifications.requests.idempotency import Answer, IdempotencyKey, once
from notifications.values import exact

MAX_LENGTH = 255
SAID_AGAIN = ("Location", "ETag")
SECONDS = 2  # Retry-After while the first request still runs
PARAMETER = query.text(
    "Idempotency-Key",
    "A request with the same key and body returns the first answer. Kept 30 days.",
    r"^[!-~]([ -~]*[!-~])?$",
    longest=MAX_LENGTH,
    location=OpenApiParameter.HEADER,
)

View = TypeVar("View", bound=ApiView)
P = ParamSpec("P")
Method = Callable[Concatenate[View, Request, P], Response]


class OneTimeResponse(Response):
    """An answer with values that are shown only once, such as a secret: they are not stored, and
    are null when the answer is repeated."""

    def __init__(self, data: dict[str, Any], *, once: dict[str, Any], **others: Any) -> None:
        super().__init__({**data, **once}, **others)
        self.kept = {**data, **dict.fromkeys(once)}
        self.once = once


def idempotent(method: Method[View, P]) -> Method[View, P]:
    """Decorate a POST: a repetition with the same key returns the first answer and does nothing.
    The schema says so. Use it inside `patient`, which repeats all of it."""

    @wraps(method)
    def guarded(view: View, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return method(view, request, *args, **kwargs)
        _check(key)

        said_once: dict[str, Any] = {}

        def work() -> Answer:
            response = method(view, request, *args, **kwargs)
            view.sign(response)
            headers = {name: response[name] for name in SAID_AGAIN if name in response}
            body = response.data
            if isinstance(response, OneTimeResponse):
                body = response.kept
                said_once.update(response.once)
            return Answer(response.status_code, as_json(body).decode(), headers)

        try:
            answer = once(view.project, key, _text_of(request), work, now=timezone.now())
        except IdempotencyKey.InFlight as error:
            still = "The first request with this Idempotency-Key is still running."
            raise Problem(
                HTTPStatus.CONFLICT, still, kind="in-flight", retry_after=SECONDS
            ) from error
        except IdempotencyKey.OtherRequest as error:
            other = "This Idempotency-Key was used for another request; use a new one."
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, other, kind="key-reused") from error
        return _response(answer, said_once)

    return extend_schema(parameters=[PARAMETER])(guarded)


def _check(key: str) -> None:
    if not 1 <= len(key) <= MAX_LENGTH or not key.isascii() or not key.isprintable():
        text = f"An Idempotency-Key has 1 to {MAX_LENGTH} printable ASCII characters."
        raise Problem(HTTPStatus.BAD_REQUEST, text, errors={"Idempotency-Key": text})


def _text_of(request: Request) -> bytes:
    """Serialize the request's data, so that the order of fields and blanks make no difference."""
    place = f"{request.method} {request.path}\n".encode()
    return place + exact.dumps(request.data, orjson.OPT_SORT_KEYS)


def _response(answer: Answer, said_once: dict[str, Any]) -> Response:
    replayed = {"Idempotent-Replayed": "true"} if answer.replayed else {}
    headers = {**answer.headers, **replayed}
    body = orjson.loads(answer.body)
    content = body | said_once if said_once else body
    return Response(content, status=answer.status, headers=headers)
