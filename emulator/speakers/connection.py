"""One client's socket: HTTP/1.1 in, replies out in the order of the requests.

Written on the bare protocol because the emulator must cost less than the sender it serves: no
task, no stream and no header table per request.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable

import httptools

from emulator.http.exchange import (
    CLOSE,
    CUT,
    CUT_BODY,
    LAST,
    PIECE_BYTES,
    RESET,
    TRICKLE,
    Reaction,
    Request,
)
from emulator.http.replies import google_page
from emulator.http.sockets import reset
from emulator.speakers.speaker import Speaker

# A request may carry 64 kB of body under 16 kB of headers; FCM itself takes 4 kB.
MOST_BYTES = 80 * 1024
# Beyond this many unanswered pipelined requests the socket is not read until some are answered.
MAX_TURNS = 64
CUT_SECONDS = 0.02
CUTS = (CUT, CUT_BODY)

BAD_REQUEST = google_page(400, "Your client has issued a malformed or illegal request.")
NOTHING_YET = Reaction()
TOO_LARGE = google_page(413, "Your client issued a request that was too large.")


class Turn:
    """One request's place in the queue of replies."""

    __slots__ = ("due", "keep_alive", "reaction", "task", "timer")

    def __init__(self, reaction: Reaction, *, keep_alive: bool) -> None:
        self.reaction = reaction
        self.keep_alive = keep_alive
        self.due = False
        self.timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None


class Connection(Speaker):
    # --- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._turns: deque[Turn] = deque()
        self._request = Request(self._number)
        self._unfinished_bytes = 0
        self._last_turn = False
        self._crowded = False
        self._parser = httptools.HttpRequestParser(self)

    def connection_lost(self, problem: Exception | None) -> None:
        super().connection_lost(problem)
        for turn in self._turns:
            if turn.timer:
                turn.timer.cancel()
                self._counts.end_request()
            if turn.task:
                turn.task.cancel()
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
        if len(self._turns) > MAX_TURNS:
            self._crowded = True
            self._transport.pause_reading()

    def retire(self) -> None:
        if not self._turns:
            self._transport.close()
            return
        self._last_turn = True
        self._turns[-1].keep_alive = False

    def _in_flight(self) -> bool:
        return bool(self._turns)

    # --- the parser's callbacks

    def on_message_begin(self) -> None:
        self._request = Request(self._number)

    def on_url(self, url: bytes) -> None:
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # Only four headers matter; their lengths spare every other one a lower().
        if len(name) == 13 and name.lower() == b"authorization":
            self._request.authorization = value
        elif len(name) == 4 and name.lower() == b"host":
            self._request.host = value
        elif len(name) == 6 and name.lower() == b"origin":
            self._request.origin = value
        elif len(name) == 6 and name.lower() == b"expect":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._request.body += body

    def on_message_complete(self) -> None:
        if self._last_turn:
            return
        if self._idle:
            self._idle.cancel()
            self._idle = None
        self._unfinished_bytes = 0
        self._request.method = self._parser.get_method()
        self._take_turn(self._handle(self._request), keep_alive=self._parser.should_keep_alive())

    # --- the queue of replies

    def _take_turn(self, reaction: Reaction | Awaitable[Reaction], *, keep_alive: bool) -> None:
        self._last_turn = not keep_alive
        if not isinstance(reaction, Reaction):
            turn = Turn(NOTHING_YET, keep_alive=keep_alive)
            self._turns.append(turn)
            turn.task = self._loop.create_task(self._hear(turn, reaction))
            return
        turn = Turn(reaction, keep_alive=keep_alive)
        self._turns.append(turn)
        if reaction.delay:
            self._wait(turn, reaction.delay)
        else:
            self._come_due(turn)

    async def _hear(self, turn: Turn, reaction: Awaitable[Reaction]) -> None:
        """Have the turn come due when its reaction is known."""
        try:
            turn.reaction = await reaction
        except Exception:
            self._transport.abort()  # a bug of ours: the loop reports it
            raise
        turn.task = None
        self._come_due(turn)

    def _wait(self, turn: Turn, seconds: float) -> None:
        self._counts.began()
        turn.timer = self._loop.call_later(seconds, self._come_due, turn)

    def _come_due(self, turn: Turn) -> None:
        turn.due = True
        if turn.timer:
            # The timer knows its turn: letting go of it here leaves the collector nothing to do.
            turn.timer = None
            self._counts.end_request()
        if turn.reaction.ending is TRICKLE and self._trickles(turn):
            return
        while self._turns and self._turns[0].due:
            self._finish(self._turns.popleft())
        if self._crowded and len(self._turns) <= MAX_TURNS:
            self._crowded = False
            self._transport.resume_reading()

    def _finish(self, turn: Turn) -> None:
        if self._transport.is_closing():
            return
        payload, _, ending, _ = turn.reaction
        if ending is RESET:
            reset(self._transport)
        elif ending is CLOSE:
            self._transport.close()
        elif ending in CUTS:
            head = payload.index(b"\r\n\r\n") + 4 if ending is CUT_BODY else 0
            self._transport.write(payload[: (head + len(payload)) // 2])
            # Not at once: the loop must have handed over what was written.
            self._loop.call_later(CUT_SECONDS, reset, self._transport)
        elif turn.keep_alive and ending is not LAST:
            self._transport.write(payload)
            if self._weather.idle_seconds is not None:
                self._idle = self._loop.call_later(self._weather.idle_seconds, self._end_idle)
        else:
            self._transport.write(payload.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            self._transport.close()

    def _trickles(self, turn: Turn) -> bool:
        """Write one piece and come back for the next; False when only the last is left."""
        payload = turn.reaction.payload
        if turn is not self._turns[0] or len(payload) <= PIECE_BYTES:
            return False
        self._transport.write(payload[:PIECE_BYTES])
        turn.reaction = turn.reaction._replace(payload=payload[PIECE_BYTES:])
        turn.due = False
        self._wait(turn, turn.reaction.pause)
        return True

    def _end_idle(self) -> None:
        if not self._turns:
            self._transport.close()
