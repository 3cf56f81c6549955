"""Request bodies: read whole, or refused early when they are too large or too slow."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from config.front.memory import Share
from config.front.refusals import BrokeOff, Busy, LargeBody, SlowBody
from config.front.worker_limits import Limits
from config.middleware.unavailable import FOR_PROGRAMS


async def whole(environ: Mapping[str, Any], receive: Any, limits: Limits, share: Share) -> bytes:
    """Read the body of a request whose head has arrived. Raises Refused."""
    announced = environ.get("CONTENT_LENGTH")
    chunked = "HTTP_TRANSFER_ENCODING" in environ
    if not (chunked or announced):
        return b""
    most = limit(environ, limits)
    too_large = LargeBody(most, stranger=most == limits.strangers_bytes)
    if announced and int(announced) > most:
        raise too_large
    try:
        async with share.waiting(limits.body_seconds):
            body = await _read(receive, share, most)
    except TimeoutError:
        raise SlowBody(limits.body_seconds) from None
    except MemoryError:
        raise Busy from None
    if len(body) > most:
        raise too_large
    return body


def limit(environ: Mapping[str, Any], limits: Limits) -> int:
    """The largest body for this caller. A stranger has a log-in to send, and little else.

    Anybody can make up a cookie or a key. Reading a form costs Django eighty times its size.
    """
    if environ["PATH_INFO"].startswith(FOR_PROGRAMS):
        is_known, most = "HTTP_AUTHORIZATION" in environ, limits.body_bytes
    else:
        cookie = f"{settings.SESSION_COOKIE_NAME}="
        is_known, most = cookie in environ.get("HTTP_COOKIE", ""), limits.pages_bytes
    return most if is_known else limits.strangers_bytes


async def _read(receive: Any, share: Share, most: int) -> bytes:
    """Read the body, but only to just beyond `most`."""
    body = io.BytesIO()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise BrokeOff
        share.take(len(event["body"]))
        body.write(event["body"])
        if body.tell() > most or not event["more_body"]:
            return body.getvalue()
