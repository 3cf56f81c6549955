"""Dialling: opens sockets to a host, which may have several addresses.

It rotates the addresses. If one does not answer soon, the next one is tried beside it and the first
to answer wins (RFC 8305). Addresses that did not answer come last.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from aiohappyeyeballs import AddrInfoType, start_connection

from notifications.fcm import fcm

NEXT_ADDRESS_AFTER = 0.25  # seconds

Dialled = TypeVar("Dialled", bound=asyncio.Protocol)


class EndpointDialer:
    """The addresses of one endpoint. Open sockets keep the address they were opened to."""

    def __init__(self, endpoint: str, tls: ssl.SSLContext) -> None:
        address = urlsplit(endpoint)
        self._host = address.hostname or ""
        self._tls = tls if address.scheme == "https" else None
        self._port = address.port or (443 if self._tls else 80)
        self._asking = asyncio.Lock()
        self._known: list[AddrInfoType] = []
        self._known_until = 0.0
        self._silent: set[AddrInfoType] = set()
        self._turn = 0

    async def open(self, protocol: Callable[[], Dialled]) -> Dialled:
        """Open a socket. Raises OSError with a text for people."""
        try:
            async with asyncio.timeout(fcm.CONNECT_WITHIN):
                return await self._first_to_answer(protocol)
        except TimeoutError as error:
            raise ConnectionError(f"{self._host} cannot be reached: not within time") from error

    async def _first_to_answer(self, protocol: Callable[[], Dialled]) -> Dialled:
        addresses = await self._addresses()
        while True:
            address, connected = await self._connect(addresses)
            try:
                return await self._shake_hands(connected, protocol)
            except OSError:
                self._silent.add(address)
                addresses.remove(address)
                if not addresses:
                    raise

    async def _connect(self, addresses: list[AddrInfoType]) -> tuple[AddrInfoType, socket.socket]:
        """Open a TCP connection. Returns the address that answered."""
        async with asyncio.timeout(fcm.ADDRESS_WITHIN):
            connected = await start_connection(addresses, happy_eyeballs_delay=NEXT_ADDRESS_AFTER)
        peer = connected.getpeername()
        answered = next(address for address in addresses if address[-1] == peer)
        if answered is not addresses[0]:
            self._silent.add(addresses[0])
        return answered, connected

    async def _shake_hands(
        self, connected: socket.socket, protocol: Callable[[], Dialled]
    ) -> Dialled:
        # The certificate belongs to the host name, not to the address that answers.
        name = self._host if self._tls else None
        async with asyncio.timeout(fcm.ADDRESS_WITHIN):
            _, dialled = await asyncio.get_running_loop().create_connection(
                protocol, sock=connected, ssl=self._tls, server_hostname=name
            )
        return dialled

    async def _addresses(self) -> list[AddrInfoType]:
        async with self._asking:  # the first caller looks up for all
            if time.monotonic() >= self._known_until:
                await self._look_up()
        self._turn += 1
        first = self._turn % max(1, len(self._known))
        return sorted(self._known[first:] + self._known[:first], key=self._silent.__contains__)

    async def _look_up(self) -> None:
        try:
            addresses = await asyncio.get_running_loop().getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM
            )
        except OSError:
            if not self._known:
                raise
        else:
            self._known = list(dict.fromkeys(addresses))
            self._silent.clear()
        self._known_until = time.monotonic() + fcm.NAMED_FOR
