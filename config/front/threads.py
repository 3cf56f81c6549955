"""The threads that requests are handed to: few, for each has a connection to PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from config.front.refusals import Busy

Said = TypeVar("Said")


class Threads:
    def __init__(self, name: str, count: int, *, waiting: int | None = None) -> None:
        """`waiting`: so many may wait beside those at work; None: whoever comes."""
        self.executor = ThreadPoolExecutor(count, thread_name_prefix=name)
        self.most = None if waiting is None else count + waiting
        self.inside = 0

    async def admit(self, work: Callable[[], Said]) -> Said:
        """A new request. Raises Busy."""
        if self.most is not None and self.inside >= self.most:
            raise Busy
        return await self.run(work)

    async def run(self, work: Callable[[], Said]) -> Said:
        """More work of one that was admitted."""
        self.inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.executor, work)
        finally:
            self.inside -= 1
