"""What each address really received: one JSON line per accepted message, only ever appended.

Lines are written at every `flush`; a killed emulator loses those since the last one (a tenth of a
second's), and may leave a torn line that the next start closes.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Any

import orjson

from emulator.google.messages import Message
from emulator.witness.tally import Tally

# About 40 MB; the file has them all.
REMEMBERED = 50_000


class Witness:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._close_torn_line()
        self._waiting: list[bytes] = []
        # As lines, not as objects: the garbage collector never has to look at them.
        self._remembered: deque[bytes] = deque(maxlen=REMEMBERED)
        self.tally = Tally()

    def add(self, message: Message, *, project: str, name: str, connection: int, at: float) -> None:
        record = {
            "at": at,
            "project": project,
            "address": message.address,
            "kind": message.kind,
            "id": message.id,
            "name": name,
            "title": message.title,
            "body": message.body,
            "tag": message.tag,
            "connection": connection,
            "repeat": self.tally.add(message.id) if message.id else 1,
        }
        # The sum is a copy of the right size; what orjson returns sits in a buffer of kilobytes.
        line = orjson.dumps(record) + b"\n"
        self._waiting.append(line)
        self._remembered.append(line)

    def flush(self) -> None:
        lines = b"".join(self._waiting)
        while lines:
            lines = lines[os.write(self._file, lines) :]
        self._waiting.clear()

    def close(self) -> None:
        self.flush()
        os.close(self._file)

    def find(
        self, *, message_id: str | None, address: str | None, limit: int
    ) -> list[dict[str, Any]]:
        """The latest remembered records that match, oldest first."""
        wanted = [("id", message_id), ("address", address)]
        marks = [(key, orjson.dumps(value), value) for key, value in wanted if value is not None]
        found: list[dict[str, Any]] = []
        for line in reversed(self._remembered):
            if len(found) == limit:
                break
            # Most lines are ruled out by their bytes; only the rest are worth parsing.
            if all(mark in line for _, mark, _ in marks):
                record = orjson.loads(line)
                if all(record[key] == value for key, _, value in marks):
                    found.append(record)
        return found[::-1]

    def reset(self) -> None:
        self._waiting.clear()
        self._remembered.clear()
        self.tally = Tally()
        os.ftruncate(self._file, 0)

    def _close_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")
