"""What leader and followers say to one another: JSON documents over a pair of sockets."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import orjson

LENGTH_BYTES = 4


class Wire:
    """One end. `hear` gives None when the other end is gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def over(cls, end: socket.socket) -> Wire:
        return cls(*await asyncio.open_connection(sock=end))

    def say(self, *document: Any) -> None:
        content = orjson.dumps(document)
        self._writer.write(len(content).to_bytes(LENGTH_BYTES, "big") + content)

    async def hear(self) -> list[Any] | None:
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            document: list[Any] = orjson.loads(await self._reader.readexactly(length))
        except (EOFError, OSError):
            return None
        return document

    async def close(self) -> None:
        """Once everything said has left."""
        try:
            await self._writer.drain()
            self._writer.close()
            await self._writer.wait_closed()
        except OSError:
            return
