"""One open stream: what waits to be written to it, and when it ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import datetime

from notifications.inbox.stream_position import Position

MAX_WAITING = 256 * 1024  # bytes, when more comes; a slower reader is cut off, and comes back
HEARTBEAT = b": still here\n\n"
RETRY_MS = (1_000, 5_000)  # after a restart they come back one after the other


class Stream:
    """Bytes are put in at any time; one writer takes them out."""

    __slots__ = (
        *("contact", "secret", "expires_at", "position", "is_new", "counts"),
        *("bell", "waiting", "size", "ended", "cut_off"),
    )

    def __init__(
        self, contact: int, secret: str, expires_at: datetime, position: Position, *, is_new: bool
    ) -> None:
        """`is_new`: the stream does not get the items that are there already."""
        self.contact, self.secret, self.expires_at = contact, secret, expires_at
        self.position, self.is_new = position, is_new
        self.counts = b""  # as they were last sent
        self.bell = asyncio.Event()
        self.waiting: list[bytes] = []
        self.size = 0
        self.ended = False
        self.cut_off: Callable[[], None] = self.end  # the connection's, once there is one
        self.put(retry())

    @property
    def is_late(self) -> bool:
        """Whether its reader is too far behind."""
        return self.size > MAX_WAITING

    def put(self, event: bytes) -> None:
        if self.ended:
            return
        self.waiting.append(event)
        self.size += len(event)
        self.bell.set()

    def beat(self) -> None:
        """Send a heartbeat, unless something else is about to be sent."""
        if not self.waiting:
            self.put(HEARTBEAT)

    def end(self) -> None:
        """End the stream after what waits."""
        self.put(retry())
        self.ended = True
        self.bell.set()

    async def next_chunk(self) -> bytes:
        """Wait for the next bytes; empty: the stream is over."""
        if not self.waiting and not self.ended:
            self.bell.clear()
            await self.bell.wait()
        chunk, self.waiting, self.size = b"".join(self.waiting), [], 0
        return chunk


def retry() -> bytes:
    return b"retry: %d\n\n" % random.randint(*RETRY_MS)


def event(kind: str, data: bytes, position: str = "") -> bytes:
    id_line = f"id: {position}\n" if position else ""
    return f"{id_line}event: {kind}\ndata: ".encode() + data + b"\n\n"
