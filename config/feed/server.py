"""The feed's server: turns connections into streams, and ends within seconds of a SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import Any

from aiohttp import web
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.feed.address_limits import Rates, SocketLimits, TooManySockets
from config.feed.authorization import Answered, Opening, ask, environ_for
from config.feed.doorbell import Doorbell
from config.feed.links import PLACE as LINKS
from config.feed.links import Links
from config.feed.receipts import ANYBODY, MOST_BYTES, Receipts
from config.feed.receipts import PLACE as RECEIPTS
from config.feed.rounds import Rounds
from config.feed.stream import Stream
from config.feed.streams import Streams
from config.front.dispatch.threads import Threads
from config.front.refusals import Failed, Refused, answer, guarded
from config.front.sockets import give_up_readers_after
from notifications.inbox.stream_position import Position
from notifications.requests.origin import address_from, neighbourhood

STREAM = "/api/v1/me/inbox/stream"
OPENING_THREADS = 4  # each has a connection to PostgreSQL
OPENING_WAIT = 2_000
HALF_OPEN_SECONDS = 10  # a request's head has to arrive by then
OTHERS = 1_000  # connections besides the streams; later ones are closed
READ_WITHIN = 30.0  # seconds a reader may take nothing, however much waits
IN_THE_KERNEL = 128 * 1024  # bytes for one reader
FAREWELL = 4.0  # seconds for all streams to end
OF_A_STREAM = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # else nginx would buffer the events
}

log = logging.getLogger(__name__)


class Door(web.RequestHandler):
    """A connection: closed at once if there are too many, in all or of its address."""

    __slots__ = ("address", "is_in", "places")

    def __init__(self, *args: Any, places: SocketLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.places, self.is_in, self.address = places, False, ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.is_in = self.places.enter()
        if not self.is_in or not (settings.PROXIES or self.hold(_address("", transport))):
            transport.abort()  # type: ignore[attr-defined]
            return
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.let_go()
        if self.is_in:
            self.is_in = False
            self.places.leave()
        super().connection_lost(exc)

    def hold(self, address: str) -> bool:
        """Count the connection for the address; False if that has its share already.

        Behind a proxy each call names another address.
        """
        is_held = self.places.hold(address)
        self.address = address if is_held else ""
        return is_held

    def let_go(self) -> None:
        if self.address:
            self.places.let_go(self.address)
            self.address = ""


class Request(web.BaseRequest):
    """A request whose answer has our usual headers, and does not name the server's software."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        is_secure = self.headers.get("X-Forwarded-Proto") == "https"
        for name, value in security_headers(is_secure=is_secure).items():
            response.headers.setdefault(name, value)
        response.headers.pop("Server", None)


@cache
def security_headers(*, is_secure: bool) -> Mapping[str, str]:
    """The security headers, as the pages have them."""
    request = HttpRequest()
    request.META["HTTP_X_FORWARDED_PROTO"] = "https" if is_secure else "http"
    response = guarded(lambda _: HttpResponse())(request)
    return {name: value for name, value in response.items() if name != "Content-Type"}


class Server:
    def __init__(self) -> None:
        self.streams = Streams(settings.FEED_STREAMS)
        self.threads = Threads("door", OPENING_THREADS, waiting=OPENING_WAIT)
        self.receipts = Receipts()
        self.links = Links(self.receipts.turns)
        self.places = SocketLimits(self.streams.most + OTHERS)
        self.rates = Rates(settings.API_RATE_PER_ADDRESS)
        self.stopping = asyncio.Event()

    async def serve(self, host: str, port: int) -> None:
        """Serve until SIGTERM, or until a part fails.

        After a failure the parent process starts another feed.
        """
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.stopping.set)
        manager = web.Server(
            self._answered, request_factory=_request_factory(loop), handler_cancellation=True
        )
        door, sock = self._door_factory(manager, loop), listening(host, port)
        listener = await loop.create_server(door, sock=sock, backlog=4_096)
        give_up_readers_after(READ_WITHIN)
        rounds = Rounds(self.streams, port)
        parts = [
            asyncio.create_task(part)
            for part in (
                rounds.go(),
                rounds.look_at_all(),
                rounds.beat(),
                Doorbell(self.streams).listen(),
            )
        ]
        log.info("the feed listens on %s:%d", host, port)
        stop = asyncio.create_task(self.stopping.wait())
        every: list[asyncio.Task[Any]] = [stop, *parts]
        done, _ = await asyncio.wait(every, return_when=asyncio.FIRST_COMPLETED)
        listener.close()
        await self._say_farewell()
        await manager.shutdown(1)
        for part in parts:
            part.cancel()
        for part in done:
            part.result()  # raises what ended it

    def _door_factory(
        self, manager: web.Server, loop: asyncio.AbstractEventLoop
    ) -> Callable[[], asyncio.Protocol]:
        quiet = logging.getLogger("config.feed.http")
        quiet.setLevel(logging.CRITICAL)  # bad requests of strangers are no news
        return lambda: Door(
            manager,
            places=self.places,
            loop=loop,
            keepalive_timeout=HALF_OPEN_SECONDS,
            access_log=None,
            logger=quiet,
            lingering_time=0,
            auto_decompress=False,  # a compressed body is refused, as on the web
        )

    async def _say_farewell(self) -> None:
        for stream in self.streams:
            stream.end()
        until = time.monotonic() + FAREWELL
        while self.streams.count and time.monotonic() < until:
            await asyncio.sleep(0.05)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0]
        if path == "/healthz":
            return web.Response(text="ok\n")
        if path not in (STREAM, RECEIPTS) and not path.startswith(LINKS):
            text = f"Only {STREAM}, {RECEIPTS}, {LINKS}… and /healthz are here.\n"
            return web.Response(status=404, text=text)
        try:
            with self._hold_place(request):
                return await self._answered_at(path, request)
        except Refused as refused:
            return _refusal(refused, request, path)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("a call failed")
            return _refusal(Failed(), request, path)

    @contextmanager
    def _hold_place(self, request: web.BaseRequest) -> Iterator[None]:
        """Hold a place while the call runs. Raises Refused.

        Without a proxy the socket has its place already.
        """
        address, door = address_of(request), door_of(request)
        self.rates.take(address, _cost_in_units(request))
        if not settings.PROXIES:
            yield
            return
        if not door.hold(address):
            raise TooManySockets
        try:
            yield
        finally:
            door.let_go()

    async def _answered_at(self, path: str, request: web.BaseRequest) -> web.StreamResponse:
        if path == RECEIPTS:
            return await self.receipts.answered(request)
        if path != STREAM:
            return await self.links.answered(request)
        return await self._opened(request)

    async def _opened(self, request: web.BaseRequest) -> web.StreamResponse:
        self.streams.refuse_if_full()
        self.streams.entering += 1
        try:
            environ = environ_for(request)
            permission: Answered = await self.threads.admit(lambda: ask(environ))
            if request.method != "GET" or permission.status != HTTPStatus.OK:
                return permission.as_response()
            stream = stream_of(Opening.parse(permission.body))
            self.streams.add(stream)
            door_of(request).let_go()
        finally:
            self.streams.entering -= 1
        try:
            return await self._streamed(request, stream, permission.headers_of_a_stream())
        finally:
            self.streams.remove(stream)

    async def _streamed(
        self, request: web.BaseRequest, stream: Stream, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={**headers, **OF_A_STREAM})
        response.force_close()
        await response.prepare(request)
        assert request.transport is not None
        stream.cut_off = request.transport.abort
        self.streams.ring([stream.contact])
        while chunk := await stream.next_chunk():
            if not await _taken(response, chunk):
                self.streams.cut += 1
                stream.cut_off()
                break
        return response


def _request_factory(loop: asyncio.AbstractEventLoop) -> Callable[..., web.BaseRequest]:
    return lambda message, payload, protocol, writer, task: Request(
        message, payload, protocol, writer, task, loop
    )


def door_of(request: web.BaseRequest) -> Door:
    assert isinstance(request.protocol, Door)
    return request.protocol


def address_of(request: web.BaseRequest) -> str:
    forwarded = ",".join(request.headers.getall("X-Forwarded-For", []))
    return _address(forwarded, request.transport)


def _address(forwarded: str, transport: asyncio.BaseTransport | None) -> str:
    peer = transport and transport.get_extra_info("peername")
    return neighbourhood(address_from(forwarded, str(peer[0]) if peer else ""))


def _cost_in_units(request: web.BaseRequest) -> int:
    """What a call costs: one, and one for each kB of its body."""
    if not request.can_read_body:
        return 1
    size = MOST_BYTES if request.content_length is None else request.content_length
    return 1 + size // 1_000


def listening(host: str, port: int) -> socket.socket:
    """Open the listening socket. Raises SystemExit with a readable text."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        sock = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SystemExit(
            f"carillon: the feed cannot listen on {host}:{port}: {error.strerror}. Stop the other "
            "program, or choose another port with FEED_PORT."
        ) from error
    # Else the kernel would keep megabytes for each slow reader.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, IN_THE_KERNEL)
    return sock


def stream_of(opening: Opening) -> Stream:
    now = time.monotonic()
    position = Position.read(opening.position or "0", now=now)
    is_new = not opening.position
    return Stream(opening.contact, opening.secret, opening.expires_at, position, is_new=is_new)


async def _taken(response: web.StreamResponse, chunk: bytes) -> bool:
    """Whether the caller takes the bytes in time. What waits meanwhile is bounded."""
    try:
        async with asyncio.timeout(READ_WITHIN):
            await response.write(chunk)
    except TimeoutError:
        return False
    return True


def _refusal(refused: Refused, request: web.BaseRequest, path: str) -> web.Response:
    response = _as_response(answer(refused, environ_for(request)))
    if path == RECEIPTS:  # a page of any site may read the reason
        response.headers.update(ANYBODY)
    return response


def _as_response(django_response: HttpResponse) -> web.Response:
    response = web.Response(status=django_response.status_code, body=django_response.content)
    for name, value in django_response.headers.items():
        response.headers[name] = value
    return response
