"""The answer to an accepted call: the same as the ordinary view's, but built directly."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.urls import reverse

from campaigns.runs.messages.api import serializers
from campaigns.runs.messages.outcome import WAITING
from config.express.call import Call
from config.front.dispatch.batched_route import WholeAnswer
from config.front.refusals import guarded
from notifications.api.base.rendering import as_json
from notifications.requests.request_id import HEADER, name_of

Headers = list[tuple[bytes, bytes]]
_of_every: dict[bool, Headers] = {}  # the common headers, by whether the call is secure


def accepted(call: Call, name: str) -> WholeAnswer:
    url = call.request.build_absolute_uri(_messages_path() + name)
    body = as_json(serializers.accepted_json(name, WAITING, url))
    own_headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Location": url,
        HEADER: name_of(call.request.META),
        **call.limits.headers(call.taken),
    }
    headers = [*_common_headers(call.request), *_encode(own_headers)]
    return WholeAnswer(HTTPStatus.ACCEPTED, headers, body)


@cache
def _messages_path() -> str:
    return reverse("api-message", args=["-"]).removesuffix("-")


def _common_headers(request: WSGIRequest) -> Headers:
    """Headers that all answers share: none depends on one request."""
    secure = request.is_secure()
    if secure not in _of_every:
        response = guarded(lambda _: HttpResponse(headers=OF_THE_DOOR))(request)
        del response["Content-Type"]
        _of_every[secure] = _encode(dict(response.items()))
    return _of_every[secure]


def _encode(headers: dict[str, str]) -> Headers:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


# The headers that REST framework sets on every answer of this endpoint.
OF_THE_DOOR = {
    "Allow": "GET, HEAD, POST",
    "Vary": "Accept-Language, Cookie",
    "Content-Language": settings.LANGUAGE_CODE,
}
