"""The aiohttp transport: one lane per socket, and one request after the other in each lane.

It costs more CPU than the other transport, but it supports proxies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

import aiohttp
import orjson
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from notifications.fcm import fcm, payload
from notifications.fcm.fcm import Destination, FcmGateway, Request, Response
from notifications.gateway import BadCredentials, Outcome
from notifications.keys.minting import TokenUnavailable
from notifications.proxy import on_the_way

# Tells how long the request that wants a socket must wait; None: it may leave.
HeldBack = Callable[[], float | None]
HELD_BACK: ContextVar[HeldBack] = ContextVar("held_back")


class TooLate(Exception):
    """The permit ended, or FCM told the project to wait, while a request waited for its socket."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self.wait = wait


class NoSocket(Exception):
    """DNS, TCP, a proxy or TLS failed: nothing of the request has left."""

    def __init__(self, error: Exception, proxy: URL | None) -> None:
        silent = "not within time" if isinstance(error, TimeoutError) else type(error).__name__
        reason = str(error) or silent
        if isinstance(error, aiohttp.ClientHttpProxyError):
            reason = f"it answered {error.status} {error.message[:100]}"
        super().__init__(on_the_way(reason, proxy and proxy.authority))


BROKEN = (aiohttp.ClientError, TimeoutError, OSError)
KEPT_HERE = (
    *(BadCredentials, TokenUnavailable, orjson.JSONEncodeError),
    *(NoSocket, aiohttp.ConnectionTimeoutError),
)


class Sockets(aiohttp.TCPConnector):
    """A connector that checks once more if the request may leave, when its socket is open: a new
    socket needs DNS, TCP and TLS first."""

    async def connect(self, req: ClientRequest, *args: Any, **more: Any) -> Connection:
        try:
            socket = await super().connect(req, *args, **more)
            while socket.protocol and socket.protocol.should_close:
                socket.close()  # it has unread data, which the next request would take as an answer
                socket = await super().connect(req, *args, **more)
        except asyncio.CancelledError as error:
            if self.closed:  # closing it cancels look-ups and all requests that wait for one
                raise TooLate(0.0) from error
            raise
        except BROKEN as error:
            raise NoSocket(error, req.proxy) from error
        if (wait := HELD_BACK.get()()) is not None:
            socket.release()
            raise TooLate(wait)
        return socket


class AiohttpGateway(FcmGateway):
    """Sends the requests of one Firebase project over an aiohttp session."""

    def __init__(self, to: Destination) -> None:
        super().__init__(to)
        self._url = URL(to.url)
        self._headers: tuple[str, CIMultiDict[str]] = ("", CIMultiDict())
        self._to_proxy = to.proxy.headers if to.proxy else None
        self._lanes: set[asyncio.Task[None]] = set()
        self._most_lanes = to.connections
        self._session = aiohttp.ClientSession(
            connector=Sockets(
                limit=to.connections,
                ssl=to.tls(),
                keepalive_timeout=fcm.IDLE_FOR,
                ttl_dns_cache=fcm.NAMED_FOR,
            ),
            timeout=aiohttp.ClientTimeout(
                total=fcm.ANSWER_WITHIN,
                connect=fcm.CONNECT_WITHIN,
                sock_connect=fcm.ADDRESS_WITHIN,
            ),
            max_line_size=fcm.MAX_HEAD,
            max_field_size=fcm.MAX_HEAD,
            max_headers=fcm.MAX_HEAD,  # limited by bytes, not by count
            # Set once for all requests: `trust_env` looks it up each time, and doubles their cost.
            proxy=f"http://{to.proxy}" if to.proxy else None,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )

    async def _hang_up(self) -> None:
        await self._session.close()

    def _set_out(self) -> None:
        for _ in range(min(len(self._batches[-1]), self._most_lanes - len(self._lanes))):
            self._lanes.add(asyncio.create_task(self._drive()))

    async def _drive(self) -> None:
        """Run a lane: one request after the other, for any batch that has messages left.

        A task for each message, held back by a semaphore, cost a fifth of the CPU time.
        """
        while request := self._next():
            try:
                outcome = await self._attempt(request)
            except Exception as error:
                request.batch.fail(error)
            else:
                request.batch.answer(outcome)
        # Here, not when the task is done: a `send` that runs before that would count on this lane.
        self._lanes.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _attempt(self, request: Request) -> Outcome:
        message, held_back = request.message, partial(self._held_back, request.batch)
        try:
            request.token = await self._tokens.current()
            if (wait := held_back()) is not None:
                return fcm.not_started(message, wait)
            response = await self._post(payload.encode(message), request.token, held_back)
        except TooLate as late:
            return fcm.not_started(message, late.wait)
        except KEPT_HERE as error:
            return fcm.never_left(message, error)
        except BROKEN as error:
            return fcm.unanswered(message, error)
        if outcome := self._understood(request, response):
            return outcome
        request.is_second = True
        return await self._attempt(request)

    async def _post(self, body: bytes, token: str, held_back: HeldBack) -> Response:
        HELD_BACK.set(held_back)
        began = time.monotonic()
        reply = await self._session.post(
            self._url,
            data=body,
            headers=self._headers_with(token),
            proxy_headers=self._to_proxy,
            # A redirect is no acceptance: if we followed it, some page would answer with a 200.
            allow_redirects=False,
        )
        body = await _body(reply)
        seconds = time.monotonic() - began
        return Response(reply.status, reply.headers.get("Retry-After"), body, seconds)

    def _headers_with(self, token: str) -> CIMultiDict[str]:
        if self._headers[0] != token:
            words = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            self._headers = (token, CIMultiDict(words))
        return self._headers[1]


async def _body(reply: aiohttp.ClientResponse) -> bytes:
    """Read the body. A body that is read to its end releases its socket; a broken or endless one
    closes it."""
    try:
        body = await _all_of(reply.content)
    except BROKEN:
        reply.close()
        if reply.status != 200:
            raise
        return b""  # accepted; only the message's name is lost
    return body


async def _all_of(stream: aiohttp.StreamReader) -> bytes:
    pieces, size = [], 0
    while piece := await stream.readany():
        pieces.append(piece)
        size += len(piece)
        if size > fcm.MAX_BODY:
            raise aiohttp.ClientPayloadError(f"an answer of more than {fcm.MAX_BODY} bytes")
    return b"".join(pieces)
