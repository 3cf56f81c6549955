"""Where accepted messages go: to the witness, and to the phones if there are any."""

from __future__ import annotations

from typing import Any, Protocol

from emulator.google.messages import Message
from emulator.settings import Settings
from emulator.witness.phones import Phones, Push
from emulator.witness.witness import Witness


class Ledger(Protocol):
    def add(
        self, message: Message, *, project: str, name: str, connection: int, at: float
    ) -> None: ...


class Book:
    """The ledger of the process that holds witness and phones."""

    def __init__(self, witness: Witness, phones: Phones, settings: Settings) -> None:
        self.witness, self.phones, self._settings = witness, phones, settings

    def add(self, message: Message, *, project: str, name: str, connection: int, at: float) -> None:
        self.witness.add(message, project=project, name=name, connection=connection, at=at)
        if self._settings.phones and message.is_for_a_device:
            self.phones.receive(Push.of(message, at=at))

    def take(self, rows: list[list[Any]]) -> None:
        """What another process has accepted, as its `Outbox` sent it."""
        for kind, address, message_id, title, body, push, *about in rows:
            message = Message(kind, address, message_id, title, body, False, {})
            project, name, connection, at = about
            self.witness.add(message, project=project, name=name, connection=connection, at=at)
            if push:
                self.phones.receive(Push(*push))


class Outbox:
    """The ledger of a process that only serves: rows that wait for the next delivery."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rows: list[tuple[Any, ...]] = []

    def add(self, message: Message, *, project: str, name: str, connection: int, at: float) -> None:
        push = None
        if self._settings.phones and message.is_for_a_device:
            push = tuple(Push.of(message, at=at))
        self._rows.append((*message[:5], push, project, name, connection, at))

    def empty(self) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows, []
        return rows
