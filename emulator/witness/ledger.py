"""Where accepted messages go: to the witness, and to the phones if there are any."""

from __future__ import annotations

from typing import Any, Protocol

from emulator.google.messages import Message
from emulator.settings import Settings
from emulator.witness.figures import DELIVERED, Figures, Group, group_of
from emulator.witness.phones import Phones, Push
from emulator.witness.witness import Witness


class Ledger(Protocol):
    def add(
        self, message: Message, *, project: str, name: str, connection: int, at: float
    ) -> None: ...


class Book:
    """The ledger of the process that holds witness, phones and figures."""

    def __init__(
        self, witness: Witness, phones: Phones, figures: Figures, settings: Settings
    ) -> None:
        self.witness, self.phones, self.figures = witness, phones, figures
        self._settings = settings

    def add(self, message: Message, *, project: str, name: str, connection: int, at: float) -> None:
        self.witness.add(message, project=project, name=name, connection=connection, at=at)
        group = group_of(message, project=project, at=at)
        self._went(group, _push_of(message, group, self._settings, at=at))

    def take(self, rows: list[list[Any]]) -> None:
        """What another process has accepted, as its `Outbox` sent it."""
        for kind, address, message_id, title, body, push, group, *about in rows:
            message = Message(kind, address, message_id, title, body, False, {})
            project, name, connection, at = about
            self.witness.add(message, project=project, name=name, connection=connection, at=at)
            counted = Group(*group) if group else None
            self._went(counted, Push(*push)._replace(group=counted) if push else None)

    def _went(self, group: Group | None, push: Push | None) -> None:
        """Without phones all that is accepted arrives."""
        if group:
            self.figures.accept(group)
        if push:
            self.phones.receive(push)
        else:
            self.figures.became(group, DELIVERED)


class Outbox:
    """The ledger of a process that only serves: rows that wait for the next delivery."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rows: list[tuple[Any, ...]] = []

    def add(self, message: Message, *, project: str, name: str, connection: int, at: float) -> None:
        group = group_of(message, project=project, at=at)
        push = _push_of(message, group, self._settings, at=at)
        told = push and tuple(push._replace(group=None))  # plain: it goes over a wire
        row = (*message[:5], told, group and tuple(group), project, name, connection, at)
        self._rows.append(row)

    def empty(self) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows, []
        return rows


def _push_of(
    message: Message, group: Group | None, settings: Settings, *, at: float
) -> Push | None:
    """None: no phone takes it."""
    if not settings.phones or not message.is_for_a_device:
        return None
    return Push.from_message(message, at=at, group=group)
