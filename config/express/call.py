"""One call on the fast path: parses and checks it, and raises `Odd` for anything unusual.

The ordinary view then answers the call, with an error text if needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.utils import timezone

from campaigns.runs.messages.api.request import MessageSerializer
from config.doors import API, scope_of
from config.middleware import rate_limits
from notifications.api.base import authentication, rendering
from notifications.staff.api_key import ApiKey

ADDRESS = f"/{API}messages"
MOST_BYTES = 64 * 1024  # a long text must not keep other calls waiting
TO_ONE = {"contact", "device"}


@dataclass(frozen=True)
class Begun:
    """A call that is not counted yet. Nothing in it is read before the count."""

    request: WSGIRequest
    limits: rate_limits.Limits


@dataclass(frozen=True)
class Call(Begun):
    taken: rate_limits.Taken
    key: ApiKey
    fields: dict[str, Any]


class NeedsOrdinaryView(Exception):
    """The call must go to the ordinary view, which finds the reason again."""


def may_be_one(environ: dict[str, Any]) -> bool:
    """Whether a request may take the fast path: a quick check for the event loop."""
    return (
        environ["REQUEST_METHOD"] == "POST"
        and environ["PATH_INFO"] == ADDRESS
        and not environ["QUERY_STRING"]
        and "HTTP_IDEMPOTENCY_KEY" not in environ
        and "HTTP_CONTENT_ENCODING" not in environ
        and authentication.is_remembered(environ.get("HTTP_AUTHORIZATION", ""))
    )


def begin(environ: dict[str, Any]) -> Begun:
    """Begin a call; nothing is counted yet.

    Raises Odd, or any error of the checks that all calls share. So does `parse_call`.
    """
    request = WSGIRequest(environ)
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise NeedsOrdinaryView
    request.get_host()  # raises for a foreign host
    return Begun(request, rate_limits.limits_of_a_program(request))


def count(begun: dict[int, Begun]) -> dict[int, rate_limits.Taken]:
    """Count all calls at once: asking Valkey costs as much as the rest of a call."""
    taken = rate_limits.take_each([call.limits for call in begun.values()])
    for call, call_taken in zip(begun.values(), taken, strict=True):
        # The ordinary view must not count it again.
        call.request.META[rate_limits.TAKEN] = call_taken
    return dict(zip(begun, taken, strict=True))


def parse_call(begun: Begun, taken: rate_limits.Taken) -> Call:
    if taken.wait:
        raise NeedsOrdinaryView
    key = _find_key(begun.request)
    return Call(begun.request, begun.limits, taken, key, _parse_message(begun.request, key))


def _find_key(request: WSGIRequest) -> ApiKey:
    now = timezone.now()
    key = authentication.key_of(request.META["HTTP_AUTHORIZATION"], now, confirmed=True)
    if key is None or scope_of("messages", "POST") not in key.scopes:
        raise NeedsOrdinaryView
    authentication.note_use(key, now)
    return key


def _parse_message(request: WSGIRequest, key: ApiKey) -> dict[str, Any]:
    body: bytes = request.META["wsgi.input"].getvalue()
    if len(body) > MOST_BYTES or request.content_type != "application/json":
        raise NeedsOrdinaryView
    values = rendering.read_exactly(body)
    if values is None:
        raise NeedsOrdinaryView
    message = MessageSerializer.read(values, project=key.project)
    if not TO_ONE & message["to"].keys():
        raise NeedsOrdinaryView
    return message
