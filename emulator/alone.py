"""An emulator of one process: it serves, and holds witness, phones and console as well."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from emulator.doors.console import Console
from emulator.doors.parts import Parts
from emulator.doors.routes import Routes
from emulator.server import Server, greet, stop_on_signals
from emulator.witness.ledger import Book


class Alone:
    def __init__(self, parts: Parts, book: Book) -> None:
        self._parts = parts
        self._book = book

    async def ask(self, command: str, argument: Any = None) -> list[Any]:
        return [self._parts.perform(command, argument)]

    async def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        parts, witness = self._parts, self._book.witness
        console = Console(parts=parts, crew=self, book=self._book)
        routes = Routes(
            fcm=parts.fcm(self._book),
            desk=parts.desk,
            faults=parts.faults,
            elsewhere=console.answer,
        )
        try:
            await Server(parts, routes).serve(
                listener,
                context,
                stop=stop_on_signals(),
                ready=lambda: greet(listener),
                # A witness that cannot write is worthless, so a failed flush ends the emulator.
                tick=witness.flush,
            )
        finally:
            witness.close()
