"""Permission to open a stream: asked of the same Django that answers on the web.

So the token, the limits, the allowed origins and the error texts are those of all endpoints of a
person's app. None of them is checked in a second way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from config.front.environ import environ_of, with_body
from config.front.wsgi_response import Answer
from config.wsgi import application
from notifications.requests.origin import FEED

# They describe the answer's length and type, and a stream has others.
NOT_OF_A_STREAM = {"content-length", "content-type", "connection", "date", "server"}


@dataclass(frozen=True)
class Opening:
    """Django's answer for a caller who may open a stream."""

    contact: int
    secret: str
    expires_at: datetime
    position: str  # empty: from now on

    @classmethod
    def parse(cls, body: bytes) -> Opening:
        fields: dict[str, Any] = json.loads(body)
        expires_at = datetime.fromisoformat(fields.pop("expires_at"))
        return cls(expires_at=expires_at, **fields)


@dataclass(frozen=True)
class Answered:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def as_response(self) -> web.Response:
        response = web.Response(status=self.status, body=self.body)
        for name, value in self.headers:
            if name != "content-length":
                response.headers[name] = value
        return response

    def headers_of_a_stream(self) -> Mapping[str, str]:
        return {name: value for name, value in self.headers if name not in NOT_OF_A_STREAM}


def environ_for(request: web.BaseRequest) -> dict[str, Any]:
    """The WSGI environment of a request. A body, if any, is never read."""
    path, _, query = request.raw_path.partition("?")
    sock: Any = request.transport and request.transport.get_extra_info("sockname")
    peer: Any = request.transport and request.transport.get_extra_info("peername")
    scope = {
        "method": request.method,
        "raw_path": path.encode("utf-8", "surrogateescape"),
        "query_string": query.encode("utf-8", "surrogateescape"),
        "http_version": f"{request.version.major}.{request.version.minor}",
        "server": (str((sock or ("localhost",))[0]), str((sock or ("", 0))[1])),
        "client": (str((peer or ("",))[0]), 0),
        "scheme": "http",
        "headers": [
            (name.lower(), value)
            for name, value in request.raw_headers
            if name.lower() not in (b"content-length", b"transfer-encoding", b"content-type")
        ],
    }
    return with_body({**environ_of(scope), FEED: True}, b"")


def ask(environ: dict[str, Any]) -> Answered:
    """Ask Django. It runs in a thread, which has a connection to PostgreSQL."""
    answer = Answer(application, environ)
    body = answer.begin()
    while not answer.ended:
        body += answer.go_on()
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers]
    return Answered(answer.status, headers, body)
