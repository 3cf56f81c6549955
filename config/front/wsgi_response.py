"""One answer: threads make it part by part, and the event loop sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

from django.db import close_old_connections

from notifications.requests.request_id import HEADER

NAME = HEADER.lower().encode()
PART = 64 * 1024
WsgiApp = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Answer:
    """What a WSGI application answers to one request.

    Threads call the methods one after the other, each in the thread's own context, where Django
    keeps the connections of a cache.
    """

    def __init__(self, product: WsgiApp, environ: dict[str, Any]) -> None:
        self.product, self.environ = product, environ
        self.status, self.headers = 500, list[tuple[bytes, bytes]]()
        self.result: Iterable[bytes] = ()
        self.ended = False

    def begin(self) -> bytes:
        """Call the application. Returns the first part of its answer."""
        try:
            self.result = self.product(self.environ, self._start)
            self._parts = iter(self.result)
            if self.environ["REQUEST_METHOD"] == "HEAD":
                self._end()
                return b""
            return self._more()
        except BaseException:
            self.end()
            raise

    def _start(self, status: str, headers: list[tuple[str, str]], _: Any = None) -> None:
        self.status = int(status[:3])
        self.headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ]

    def named(self, name: str) -> Answer:
        """A copy for another caller, whose request has its own id."""
        other = copy(self)
        other.headers = [
            (header, name.encode() if header == NAME else value) for header, value in self.headers
        ]
        return other

    def go_on(self) -> bytes:
        """The next part; the last one when `ended`.

        Parts after the first may be made in other threads. Their database connection may be old, so
        it is closed here.
        """
        close_old_connections()
        try:
            return self._more()
        finally:
            close_old_connections()

    def _more(self) -> bytes:
        gathered, size = [], 0
        for piece in self._parts:
            gathered.append(piece)
            size += len(piece)
            if size >= PART:
                break
        else:
            self._end()
        return b"".join(gathered)

    def end(self) -> None:
        """Close the answer, even if not all of it was taken."""
        if not self.ended:
            self._end()

    def _end(self) -> None:
        self.ended = True
        if hasattr(self.result, "close"):
            self.result.close()
