"""Dialling: opens sockets to a host. It rotates the host's addresses, silent ones come last."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from notifications.fcm import fcm

Dialled = TypeVar("Dialled", bound=asyncio.Protocol)


class EndpointDialer:
    """The addresses of one endpoint. Open sockets keep the address they were opened to."""

    def __init__(self, endpoint: str, tls: ssl.SSLContext) -> None:
        address = urlsplit(endpoint)
        self._host = address.hostname or ""
        self._tls = tls if address.scheme == "https" else None
        self._port = address.port or (443 if self._tls else 80)
        self._asking = asyncio.Lock()
        self._known: list[str] = []
        self._known_until = 0.0
        self._silent: set[str] = set()
        self._turn = 0

    async def open(self, protocol: Callable[[], Dialled]) -> Dialled:
        """Open a socket. Raises OSError with a text for people."""
        try:
            async with asyncio.timeout(fcm.CONNECT_WITHIN):
                return await self._first_to_answer(protocol)
        except TimeoutError as error:
            raise ConnectionError(f"{self._host} cannot be reached: not within time") from error

    async def _first_to_answer(self, protocol: Callable[[], Dialled]) -> Dialled:
        trouble = OSError(f"{self._host} has no address")
        for address in await self._addresses():
            try:
                async with asyncio.timeout(fcm.ADDRESS_WITHIN):
                    return await self._connect(address, protocol)
            except OSError as error:
                trouble = error
                self._silent.add(address)
        raise trouble

    async def _connect(self, address: str, protocol: Callable[[], Dialled]) -> Dialled:
        # The certificate belongs to the host name, not to the address that answers.
        _, dialled = await asyncio.get_running_loop().create_connection(
            protocol,
            address,
            self._port,
            ssl=self._tls,
            server_hostname=self._host if self._tls else None,
        )
        return dialled

    async def _addresses(self) -> list[str]:
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
            self._known = list(dict.fromkeys(str(address[0]) for *_, address in addresses))
            self._silent.clear()
        self._known_until = time.monotonic() + fcm.NAMED_FOR
