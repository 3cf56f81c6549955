"""The wire transport: our own sockets. When an answer has been read, the next request is written.

Sockets are opened a few at a time, while there is more to send than they carry. The socket that was
used last is reused first, so unneeded sockets become idle and are closed. One timer per second
checks all timeouts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from urllib.parse import quote, urlsplit

import orjson

from notifications.fcm import fcm, payload
from notifications.fcm.fcm import Destination, FcmGateway, Request, Response
from notifications.fcm.transport.dialling import EndpointDialer
from notifications.fcm.transport.wire import Socket
from notifications.gateway import BadCredentials, Outcome
from notifications.keys.minting import TokenUnavailable

TICK = 1.0
DIALS = 25  # at once: a TLS handshake costs both sides much CPU


class WireGateway(FcmGateway):
    """Sends the requests of one Firebase project over a pool of our own sockets."""

    def __init__(self, to: Destination) -> None:
        super().__init__(to)
        self._head = _Head(to.url)
        self._way = EndpointDialer(to.endpoint, to.tls())
        self._most = to.connections
        self._sockets: set[Socket] = set()
        self._idle: list[Socket] = []  # the most recently used is last
        self._dials: set[asyncio.Task[Socket]] = set()
        self._again: deque[Request] = deque()
        self._renewing: asyncio.Task[None] | None = None
        self._clock: asyncio.TimerHandle | None = None

    async def _hang_up(self) -> None:
        tasks = [*self._dials, *filter(None, [self._renewing])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for socket in list(self._sockets):  # also those that opened too late to be cancelled
            socket.give_up(ConnectionAbortedError("the gateway was closed"))

    # --- What is sent next ------------------------------------------------------------------------

    def _set_out(self) -> None:
        self._hold_back()
        while self._idle and self._waiting_count and self._token():
            self._give(self._idle.pop())
        self._dial()
        if self._clock is None:
            self._clock = asyncio.get_running_loop().call_later(TICK, self._tick)

    @property
    def _waiting_count(self) -> int:
        return len(self._again) + sum(map(len, self._batches))

    def _next(self) -> Request | None:
        return self._again.popleft() if self._again else super()._next()

    def _give(self, socket: Socket) -> None:
        """Send the next request over this socket. A socket without a request becomes idle."""
        while socket.is_open and (token := self._token()) and (request := self._next()):
            if words := self._in_full(request, token):
                socket.ask(request, words)
                return
        if socket.is_open:
            socket.rest()
            self._idle.append(socket)

    def _in_full(self, request: Request, token: str) -> bytes:
        """Return the bytes of a request. Empty: it does not leave, and already has its outcome."""
        message, batch = request.message, request.batch
        try:
            if (wait := self._held_back(batch)) is not None:
                batch.answer(fcm.not_started(message, wait))
                return b""
            request.token = token
            return self._head.before(payload.encode(message), token)
        except orjson.JSONEncodeError as error:
            batch.answer(fcm.never_left(message, error))
        except Exception as error:
            batch.fail(error)
        return b""

    def _hold_back(self) -> None:
        """Answer messages that may not leave now. They need not wait for a socket first."""
        for batch in self._batches:
            if (wait := self._held_back(batch)) is not None:
                for message in iter(batch.next, None):
                    batch.answer(fcm.not_started(message, wait))

    def _give_back(self, error: BaseException) -> None:
        """Answer all waiting messages with the error that kept them from leaving."""
        while request := self._next():
            if (wait := self._held_back(request.batch)) is not None:
                request.batch.answer(fcm.not_started(request.message, wait))
            else:
                request.batch.answer(fcm.never_left(request.message, error))

    # --- Tokens -----------------------------------------------------------------------------------

    def _token(self) -> str:
        """Return the access token. Empty: it is being renewed, and sending continues afterwards."""
        token = self._tokens.at_hand()
        if not token and self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        return token

    async def _renew(self) -> None:
        try:
            await self._tokens.current()
        except (BadCredentials, TokenUnavailable) as error:
            self._give_back(error)
        except Exception as error:
            while request := self._next():
                request.batch.fail(error)
        finally:
            self._renewing = None
        self._set_out()

    # --- What became of it ------------------------------------------------------------------------

    def answered(self, socket: Socket, response: Response) -> None:
        request = self._take_request(socket)
        try:
            outcome = self._understood(request, response)
        except Exception as error:
            request.batch.fail(error)
        else:
            self._conclude(request, outcome)
        self._give(socket)

    def _conclude(self, request: Request, outcome: Outcome | None) -> None:
        if outcome:
            request.batch.answer(outcome)
        else:
            request.is_second = True
            self._again.append(request)

    def lost(self, socket: Socket, error: Exception) -> None:
        request = self._take_request(socket)
        request.batch.answer(fcm.unanswered(request.message, error))

    def gone(self, socket: Socket) -> None:
        if socket not in self._sockets:
            return  # it was never open: its dial reports the error
        self._sockets.remove(socket)
        if socket in self._idle:
            self._idle.remove(socket)
        self._set_out()

    @staticmethod
    def _take_request(socket: Socket) -> Request:
        request, socket.request = socket.request, None
        assert request, "a socket speaks of a request that it carries"
        return request

    # --- Sockets ----------------------------------------------------------------------------------

    def _dial(self) -> None:
        open_or_soon = len(self._sockets) + len(self._dials)
        room = min(self._most - open_or_soon, DIALS - len(self._dials))
        for _ in range(min(room, self._waiting_count - len(self._dials))):
            task = asyncio.create_task(self._way.open(partial(Socket, self)))
            self._dials.add(task)
            task.add_done_callback(self._end_dial)

    def _end_dial(self, dial: asyncio.Task[Socket]) -> None:
        self._dials.discard(dial)
        if dial.cancelled():
            return
        if error := dial.exception():
            self._fail_dial(error)
        elif (socket := dial.result()).is_open:
            self._sockets.add(socket)
            self._give(socket)
            self._dial()
        else:
            self._fail_dial(ConnectionResetError("the connection was closed as soon as it stood"))

    def _fail_dial(self, error: BaseException) -> None:
        """Handle a failed dial. If other sockets are open or on the way, they serve those who wait,
        and the timer dials again."""
        if not self._sockets and not self._dials:
            self._give_back(error)

    # --- Time -------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._clock = None
        now = time.monotonic()
        for socket in list(self._sockets):
            if socket.request is None:
                if now - socket.since > fcm.IDLE_FOR:
                    socket.end()
            elif now - socket.since > fcm.ANSWER_WITHIN:
                socket.give_up(TimeoutError(f"no answer within {fcm.ANSWER_WITHIN:.0f} s"))
        if self._sockets or self._dials or self._waiting_count:
            self._set_out()


class _Head:
    """The head of every request, built once per token."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        host = address.netloc.rpartition("@")[2]
        self._begin = f"POST {quote(address.path, safe='/:')} HTTP/1.1\r\nHost: {host}\r\n"
        self._token, self._made = "", b""

    def before(self, body: bytes, token: str) -> bytes:
        if token != self._token:
            self._token, self._made = token, self._make(token)
        return b"%b%d\r\n\r\n%b" % (self._made, len(body), body)

    def _make(self, token: str) -> bytes:
        if not token.isprintable():
            raise ValueError("an access token with a line break in it")
        words = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        return f"{self._begin}{words}Content-Length: ".encode()
