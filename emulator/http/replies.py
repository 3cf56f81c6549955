"""HTTP responses as bytes: formatted once, dated when they leave."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from html import escape
from http import HTTPStatus
from typing import Any, NamedTuple

import orjson

NO_HEADERS: Mapping[str, str] = {}


class Reply(NamedTuple):
    """One response. `head` stops after "Date: ", the only part that changes between two."""

    head: bytes
    body: bytes

    def dated(self, now: float) -> bytes:
        return b"%b%b\r\n\r\n%b" % (self.head, _http_date(int(now)), self.body)


def reply(status: int, content_type: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return Reply(_head(status, content_type, extra, len(body)), body)


def json_reply(
    document: Any, *, status: int = 200, headers: Mapping[str, str] = NO_HEADERS
) -> Reply:
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return reply(status, "application/json; charset=UTF-8", body, headers)


def html_reply(page: str, *, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
    return reply(status, "text/html; charset=UTF-8", page.encode(), headers)


def google_page(status: int, explanation: str) -> Reply:
    """The HTML page Google's front end answers before any API has seen the request."""
    return html_reply(
        "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n"
        f"  <title>Error {status} ({_phrase(status)})!!1</title>\n"
        f"  <p><b>{status}.</b> <ins>That’s an error.</ins>\n"
        f"  <p>{escape(explanation)}  <ins>That’s all we know.</ins>\n",
        status=status,
    )


@lru_cache
def _head(status: int, content_type: str, extra: str, length: int) -> bytes:
    return (
        f"HTTP/1.1 {status} {_phrase(status)}\r\nContent-Type: {content_type}\r\n{extra}"
        f"Content-Length: {length}\r\nDate: "
    ).encode("latin-1")


@lru_cache(maxsize=4)
def _http_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


@lru_cache
def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase
