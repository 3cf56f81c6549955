"""Memory that all requests of a process share: the one that waits longest for its caller gives way.

So an attack with many half-sent bodies evicts itself, because all other callers are quicker.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Memory:
    """What all requests may hold together.

    `most`: bytes. `places`: how many callers may keep us waiting; each of them is a connection.
    """

    def __init__(self, most: int, places: int) -> None:
        self.most, self.places, self.held = most, places, 0
        self.waiting: dict[Share, None] = {}  # in the order in which they began to wait


class Share:
    """One request's part of the memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.size = memory, 0
        self.was_let_go = False

    @asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """Wait for the caller. TimeoutError when it takes longer, or when others need the room."""
        async with asyncio.timeout(seconds) as self.deadline:
            self.memory.waiting[self] = None
            if len(self.memory.waiting) > self.memory.places:
                next(iter(self.memory.waiting)).let_go()
            try:
                yield
            finally:
                self.memory.waiting.pop(self, None)
            # What it waited for may have come before the deadline did.
            if self.was_let_go:
                raise TimeoutError

    def take(self, size: int) -> None:
        """Take so many bytes. MemoryError when requests at work hold all the room."""
        self.size += size
        self.memory.held += size
        while self.memory.held > self.memory.most:
            if not self.memory.waiting:
                raise MemoryError
            next(iter(self.memory.waiting)).let_go()

    def give_back(self, size: int) -> None:
        self.size -= size
        self.memory.held -= size

    def let_go(self) -> None:
        self.memory.waiting.pop(self)
        self.was_let_go = True
        self.release()
        self.deadline.reschedule(0)

    def release(self) -> None:
        self.memory.held -= self.size
        self.size = 0
