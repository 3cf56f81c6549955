"""Wire: one HTTP/1.1 socket with keep-alive, TLS, httptools, and at most one request under way.

It knows HTTP, but not messages: its pool interprets answers and chooses the next request. A request
has no task, future or timer of its own, because they cost more than the request.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol, cast

import httptools

from notifications.fcm import fcm
from notifications.fcm.fcm import Request, Response

UNWRITTEN = 65_536  # bytes of a request that may wait for a peer that reads slowly
# What aiohttp reads in spite of the standard is read here, too: a front between us and FCM must not
# cost outcomes because of how it writes line ends.
LENIENT = {
    "lenient_headers": True,
    "lenient_optional_cr_before_lf": True,
    "lenient_spaces_after_chunk_size": True,
}
ENDS = (b"content-length", b"transfer-encoding")  # one of these headers says where a body ends


class Broken(Exception):
    """The connection failed, or the data is not valid HTTP."""


class Owner(Protocol):
    """Is called once at the end of each request, and when the socket closes."""

    def answered(self, socket: Socket, response: Response) -> None: ...

    def lost(self, socket: Socket, error: Exception) -> None: ...

    def gone(self, socket: Socket) -> None: ...


class Socket(asyncio.Protocol):
    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._is_clogged = self._is_over = False
        self.request: Request | None = None  # under way
        self.since = time.monotonic()  # start of the request, or of the idle time
        self._expect()

    def _expect(self) -> None:
        """Reset the state of the parser for the next answer."""
        self._status = self._came = self._head_bytes = self._body_bytes = 0
        self._retry_after: str | None = None
        self._body: list[bytes] = []
        self._ends_somewhere = self._is_whole = self._is_kept = self._is_more = False

    @property
    def is_open(self) -> bool:
        # Check our own flag, too: a closed TLS transport says that it is not closing.
        return not (self._is_over or self._transport.is_closing())

    def ask(self, request: Request, words: bytes) -> None:
        """Send a request. From here on, the message may arrive."""
        self.request, self.since = request, time.monotonic()
        self._transport.write(words)

    def rest(self) -> None:
        self.since = time.monotonic()

    def end(self) -> None:
        """Close without a TLS goodbye: we would wait for a dead peer, and block another socket's
        place."""
        self._is_over = True
        self._transport.abort()

    def give_up(self, error: Exception) -> None:
        """Close the socket and end its request with this error. Later data counts for nothing."""
        self.end()
        self._cut(error)

    # --- Called by the loop -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._transport.set_write_buffer_limits(high=UNWRITTEN)
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**LENIENT)

    def data_received(self, data: bytes) -> None:
        if self.request is None:  # unexpected data: the next request would take it as its answer
            self.end()
            return
        status = self._status
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_more = True  # what follows is not HTTP
        except httptools.HttpParserError as error:
            self._status = status  # do not trust a status that came in one piece with garbage
            self.give_up(Broken(str(error)))
            return
        self._look(len(data))

    def pause_writing(self) -> None:
        """The peer does not read. Even if it answers, this socket is not used again."""
        self._is_clogged = True

    def resume_writing(self) -> None:
        self._is_clogged = False

    def eof_received(self) -> None:
        self._is_over = True

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        if self.request and self._status and not self._ends_somewhere and error is None:
            self._finish()  # the end of the connection was the end of the body
        self._cut(error or Broken("the connection was closed before an answer was whole"))
        self._owner.gone(self)

    # --- Called by the parser ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._is_more = self._is_whole  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._status:
            return  # a trailer, or a header of a second answer
        if b"\0" in value:
            raise Broken("a header with a NUL in it")
        self._head_bytes += len(name) + len(value)
        name = name.lower()
        if name in ENDS:
            self._ends_somewhere = True
        elif name == b"retry-after" and self._retry_after is None:
            self._retry_after = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        if not self._is_whole:
            self._status = self._parser.get_status_code()

    def on_body(self, piece: bytes) -> None:
        self._body_bytes += len(piece)
        if self._body_bytes <= fcm.MAX_BODY and not self._is_whole:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        if 100 <= self._status < 200 and self._status != 101:
            self._status, self._retry_after, self._ends_somewhere = 0, None, False
            return  # the answer is still to come
        self._is_whole = True
        self._is_kept = self._parser.should_keep_alive()

    # ----------------------------------------------------------------------------------------------

    def _look(self, size: int) -> None:
        """Check limits and the end of the answer after each piece of data. Not inside a parser
        callback: the parser may still hold a second answer."""
        self._came += size
        if self._head_bytes > fcm.MAX_HEAD:
            self._status = 0  # do not trust an answer with such a head
        if self._came - self._body_bytes > fcm.MAX_HEAD:  # also counts trailers and chunk sizes
            self.give_up(Broken(f"an answer with a head of more than {fcm.MAX_HEAD} bytes"))
        elif self._body_bytes > fcm.MAX_BODY:
            self.give_up(Broken(f"an answer of more than {fcm.MAX_BODY} bytes"))
        elif self._is_whole:
            self._finish()

    def _finish(self) -> None:
        response = Response(
            self._status, self._retry_after, b"".join(self._body), time.monotonic() - self.since
        )
        if not self._is_kept or self._is_more or self._is_clogged:
            self.end()
        self._expect()
        self._owner.answered(self, response)

    def _cut(self, error: Exception) -> None:
        """End the request without a whole answer. After a 200 only the message's name is lost."""
        if self.request is None:
            return
        if self._status == 200:
            self._owner.answered(self, Response(200, None, b"", time.monotonic() - self.since))
        else:
            self._owner.lost(self, error)
