"""The running emulator: builds the parts, listens, and stops without losing what it witnessed."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import ssl
import time

from emulator.account import ServiceAccount
from emulator.addresses import Addresses
from emulator.connection import Connection
from emulator.console import Console
from emulator.counts import Counts
from emulator.fcm import Fcm
from emulator.folder import Folder, Unusable
from emulator.oauth import TokenDesk
from emulator.routes import Routes
from emulator.settings import Settings
from emulator.witness import Witness

# Anybody who reaches it may ask it anything, so it is for this machine only.
HOST = "127.0.0.1"
FLUSH_SECONDS = 0.1
DRAIN_SECONDS = 1.0
# Senders open hundreds of connections in one moment when they start.
BACKLOG = 4096


class Emulator:
    """All parts of one emulator, wired together once."""

    def __init__(self, folder: Folder, account: ServiceAccount, settings: Settings) -> None:
        self._witness = Witness(folder.witness)
        self._counts = Counts(since=time.time())
        self._opened: set[Connection] = set()
        self._connections = 0
        addresses = Addresses()
        desk = TokenDesk(account, counts=self._counts, settings=settings)
        fcm = Fcm(
            desk=desk,
            addresses=addresses,
            witness=self._witness,
            counts=self._counts,
            settings=settings,
        )
        console = Console(
            addresses=addresses,
            counts=self._counts,
            desk=desk,
            settings=settings,
            witness=self._witness,
            connections=self._opened,
        )
        self._routes = Routes(fcm=fcm, desk=desk, console=console)

    async def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        """Serve until SIGTERM or SIGINT. If the process dies here: see the witness."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_number, stop.set)
        server = await loop.create_server(
            self._connect, sock=listener, ssl=context, backlog=BACKLOG
        )
        # Nothing made so far is ever garbage; the collector need not look at it again.
        gc.freeze()
        # A message leaves no cycle behind: look for them now and then, not every 700 objects.
        gc.set_threshold(50_000, 20, 20)
        print(f"emulator ready on https://{HOST}:{listener.getsockname()[1]}", flush=True)
        try:
            await self._flush_until(stop)
        finally:
            server.close()
            await self._drain()
            self._witness.close()

    def _connect(self) -> Connection:
        self._connections += 1
        return Connection(
            self._routes,
            number=self._connections,
            counts=self._counts,
            opened=self._opened,
            loop=asyncio.get_running_loop(),
        )

    async def _flush_until(self, stop: asyncio.Event) -> None:
        """A witness that cannot write is worthless, so a failed flush ends the emulator."""
        while not stop.is_set():
            self._witness.flush()
            try:
                await asyncio.wait_for(stop.wait(), FLUSH_SECONDS)
            except TimeoutError:
                continue

    async def _drain(self) -> None:
        """Give the answers under way a moment, then close whatever is left."""
        for connection in tuple(self._opened):
            connection.retire()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._counts.in_flight and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for connection in tuple(self._opened):
            connection.abort()


def listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=BACKLOG)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
        raise Unusable(f"cannot listen on {HOST}:{port}: {reason}") from None


def allow_many_sockets() -> None:
    """One file per connection, and senders open thousands: take all this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
