"""One serving process: it listens, answers, and stops without losing what it accepted."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import ssl
import time
from collections.abc import Callable

from emulator.doors.parts import Parts
from emulator.doors.routes import Routes
from emulator.folder import Unusable
from emulator.speakers.arrival import Arrival
from emulator.speakers.speaker import Speaker

# Every program that reaches it may ask it anything, so it is for this machine only.
HOST = "127.0.0.1"
TICK_SECONDS = 0.1
DRAIN_SECONDS = 1.0
# Senders open hundreds of connections in one moment when they start.
BACKLOG = 4096


class Server:
    def __init__(self, parts: Parts, routes: Routes) -> None:
        self._parts = parts
        self._routes = routes
        self._opened: set[Speaker] = set()
        self._connected = 0
        self._server: asyncio.Server | None = None
        self._in_outage = False

    async def serve(
        self,
        listener: socket.socket,
        context: ssl.SSLContext,
        *,
        stop: asyncio.Event,
        ready: Callable[[], None],
        tick: Callable[[], None],
    ) -> None:
        """Serve until told to stop. `tick` runs ten times a second; what it raises ends it all."""
        self._listener, self._context = listener, context
        await self._listen()
        # Nothing made so far is ever garbage; the collector need not look at it again.
        gc.freeze()
        # A message leaves no cycle behind: look for them now and then, not every 700 objects.
        gc.set_threshold(50_000, 20, 20)
        ready()
        try:
            while not stop.is_set():
                tick()
                await self._heed_the_weather()
                await _sleep_until(stop, TICK_SECONDS)
        finally:
            self._stop_listening()
            listener.close()
            await self._drain()

    # --- listening

    async def _listen(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Arrival(self._introduce),
            sock=self._listener.dup(),
            ssl=self._context,
            backlog=BACKLOG,
        )

    def _stop_listening(self) -> None:
        """The listener itself stays open: connections queue up, and nobody greets them."""
        if self._server:
            self._server.close()
            self._server = None

    def _introduce(self, language: type[Speaker]) -> Speaker:
        plan = self._parts.plan
        self._connected += 1
        return language(
            self._routes,
            number=self._connected * plan.processes + self._parts.process,
            counts=self._parts.counts,
            opened=self._opened,
            weather=self._parts.faults.weather,
            loop=asyncio.get_running_loop(),
        )

    async def _heed_the_weather(self) -> None:
        weather = self._parts.faults.look_out(time.time())
        if weather.stalled and self._server:
            self._stop_listening()
        elif not weather.stalled and not self._server:
            await self._listen()
        if weather.outage and not self._in_outage:
            for connection in tuple(self._opened):
                connection.abort_flight()
        self._in_outage = weather.outage

    async def _drain(self) -> None:
        """Give the answers under way a moment, then close whatever is left."""
        for connection in tuple(self._opened):
            connection.retire()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._parts.counts.in_flight and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for connection in tuple(self._opened):
            connection.abort()


def listen(port: int, *, count: int = 1) -> list[socket.socket]:
    """So many sockets on one port; the kernel deals the connections out among them."""
    try:
        if count == 1:
            return [socket.create_server((HOST, port), backlog=BACKLOG)]
        # First without sharing, to notice somebody else who shares it.
        with socket.create_server((HOST, port)) as first:
            port = first.getsockname()[1]
        return [
            socket.create_server((HOST, port), backlog=BACKLOG, reuse_port=True)
            for _ in range(count)
        ]
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
        raise Unusable(f"cannot listen on {HOST}:{port}: {reason}") from None


def stop_on_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    return stop


def greet(listener: socket.socket) -> None:
    print(f"emulator ready on https://{HOST}:{listener.getsockname()[1]}", flush=True)


def allow_many_sockets() -> None:
    """One file per connection, and senders open thousands: take all this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _sleep_until(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
