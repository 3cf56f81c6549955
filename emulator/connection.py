"""One client's socket: HTTP/1.1 in, replies out in the order of the requests.

Written on the bare protocol because the emulator must cost less than the sender it serves: no
task, no stream and no header table per request.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import cast

import httptools

from emulator.counts import Counts
from emulator.exchange import CLOSE, RESET, Reaction, Request
from emulator.replies import google_page

Handle = Callable[[Request], Reaction]

# A request may carry 64 kB of body under 16 kB of headers; FCM itself takes 4 kB.
MOST_BYTES = 80 * 1024
# Beyond this many unanswered pipelined requests the socket is not read until some are answered.
MOST_TURNS = 64
LINGER_ZERO = struct.pack("ii", 1, 0)

BAD_REQUEST = google_page(400, "Your client has issued a malformed or illegal request.")
TOO_LARGE = google_page(413, "Your client issued a request that was too large.")


class Turn:
    """One request's place in the queue of replies."""

    __slots__ = ("due", "keep_alive", "reaction", "timer")

    def __init__(self, reaction: Reaction, *, keep_alive: bool) -> None:
        self.reaction = reaction
        self.keep_alive = keep_alive
        self.due = False
        self.timer: asyncio.TimerHandle | None = None


class Connection(asyncio.Protocol):
    def __init__(
        self,
        handle: Handle,
        *,
        number: int,
        counts: Counts,
        opened: set[Connection],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._handle = handle
        self._number = number
        self._counts = counts
        self._opened = opened
        self._loop = loop
        self._turns: deque[Turn] = deque()
        self._request = Request(number)
        self._unfinished_bytes = 0
        self._last_turn = False
        self._crowded = False

    # --- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpRequestParser(self)
        self._opened.add(self)

    def connection_lost(self, problem: Exception | None) -> None:
        self._opened.discard(self)
        for turn in self._turns:
            if turn.timer:
                turn.timer.cancel()
                self._counts.ended()
        self._turns.clear()

    def data_received(self, data: bytes) -> None:
        if self._last_turn:
            return
        self._unfinished_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            # A bug of ours: the loop reports it, the client sees the connection end.
            self._transport.abort()
            raise
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._take_turn(Reaction(BAD_REQUEST.dated(time.time())), keep_alive=False)
        if self._unfinished_bytes > MOST_BYTES and not self._last_turn:
            self._take_turn(Reaction(TOO_LARGE.dated(time.time())), keep_alive=False)
        if len(self._turns) > MOST_TURNS:
            self._crowded = True
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def retire(self) -> None:
        """Answer what was asked, take nothing more, then close."""
        if not self._turns:
            self._transport.close()
            return
        self._last_turn = True
        self._turns[-1].keep_alive = False

    def abort(self) -> None:
        self._transport.abort()

    # --- the parser's callbacks

    def on_message_begin(self) -> None:
        self._request = Request(self._number)

    def on_url(self, url: bytes) -> None:
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # Only two headers matter; their lengths spare every other one a lower().
        if len(name) == 13 and name.lower() == b"authorization":
            self._request.authorization = value
        elif len(name) == 6 and name.lower() == b"expect":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._request.body += body

    def on_message_complete(self) -> None:
        if self._last_turn:
            return
        self._unfinished_bytes = 0
        self._request.method = self._parser.get_method()
        self._take_turn(self._handle(self._request), keep_alive=self._parser.should_keep_alive())

    # --- the queue of replies

    def _take_turn(self, reaction: Reaction, *, keep_alive: bool) -> None:
        turn = Turn(reaction, keep_alive=keep_alive)
        self._last_turn = not keep_alive
        self._turns.append(turn)
        if reaction.delay:
            self._counts.began()
            turn.timer = self._loop.call_later(reaction.delay, self._come_due, turn)
        else:
            self._come_due(turn)

    def _come_due(self, turn: Turn) -> None:
        turn.due = True
        if turn.timer:
            # The timer knows its turn: letting go of it here leaves the collector nothing to do.
            turn.timer = None
            self._counts.ended()
        while self._turns and self._turns[0].due:
            self._finish(self._turns.popleft())
        if self._crowded and len(self._turns) <= MOST_TURNS:
            self._crowded = False
            self._transport.resume_reading()

    def _finish(self, turn: Turn) -> None:
        if self._transport.is_closing():
            return
        payload, _, ending = turn.reaction
        if ending is RESET:
            self._reset()
        elif ending is CLOSE:
            self._transport.close()
        elif turn.keep_alive:
            self._transport.write(payload)
        else:
            self._transport.write(payload.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            self._transport.close()

    def _reset(self) -> None:
        """Make the kernel send RST: a lingering time of zero throws the connection away."""
        # Through a duplicate, because uvloop's own socket object refuses setsockopt.
        descriptor = os.dup(self._transport.get_extra_info("socket").fileno())
        with socket.socket(fileno=descriptor) as duplicate:
            duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
        self._transport.abort()
