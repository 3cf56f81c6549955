"""One request over a socket of its own, and the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Answer:
    status: int
    headers: Message
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.content)


def get(url: str) -> Answer:
    return ask("GET", url)


def post(url: str, body: bytes | Iterable[bytes], headers: dict[str, str] | None = None) -> Answer:
    """An iterable goes in chunks."""
    return ask("POST", url, body, headers)


def ask(method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    where = urlsplit(url)
    connection = HTTPConnection(where.netloc, timeout=60)
    try:
        # Who is refused early finds the line closed in the middle of the body; the answer is there.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request(
                method, where._replace(scheme="", netloc="").geturl(), body, headers or {}
            )
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()
