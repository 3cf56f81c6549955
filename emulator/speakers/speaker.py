"""One client's socket, whatever is spoken on it: counted, and known to whoever ends them all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import cast

from emulator.faults.faults import Weather
from emulator.http.exchange import Reaction, Request
from emulator.http.sockets import reset
from emulator.witness.counts import Counts

Handle = Callable[[Request], Reaction | Awaitable[Reaction]]


class Speaker(asyncio.Protocol, ABC):
    def __init__(
        self,
        handle: Handle,
        *,
        number: int,
        counts: Counts,
        opened: set[Speaker],
        weather: Weather,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._handle = handle
        self._number = number
        self._counts = counts
        self._opened = opened
        self._weather = weather
        self._loop = loop
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._opened.add(self)
        self._counts.connections += 1

    def connection_lost(self, problem: Exception | None) -> None:
        self._opened.discard(self)
        self._counts.connections -= 1

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    @abstractmethod
    def retire(self) -> None:
        """Answer what was asked, take nothing more, then close."""

    def abort(self) -> None:
        self._transport.abort()

    def abort_flight(self) -> None:
        """Lose what is still to be answered, and with it the connection."""
        if self._in_flight():
            reset(self._transport)

    @abstractmethod
    def _in_flight(self) -> bool:
        """Whether anything is still to be answered."""
