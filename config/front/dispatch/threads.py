"""Threads that run requests: few, because each has a connection to PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from config.front.refusals import Busy, Flooded, Refused

Said = TypeVar("Said")


class Threads:
    def __init__(self, name: str, count: int, *, waiting: int | None = None) -> None:
        """`waiting`: so many may wait beside those at work; None: no limit."""
        self.executor = ThreadPoolExecutor(count, thread_name_prefix=name)
        self.most = None if waiting is None else count + waiting
        self.inside = 0
        # When each request came that no thread has begun yet, the oldest first.
        self.came: dict[object, float] = {}

    async def admit(self, work: Callable[[], Said]) -> Said:
        """Run a new request. Raises Busy."""
        self._refuse_at_most(Busy)
        return await self.run(work)

    async def admit_sender(self, work: Callable[[], Said], *, within: float) -> Said:
        """Run a new request that stores messages. Raises Flooded.

        It also raises while a request waits for longer than `within` seconds: this one would wait
        as long, and more would come than can be stored.
        """
        self._refuse_at_most(Flooded)
        first = next(iter(self.came.values()), None)
        if first is not None and time.monotonic() - first > within:
            raise Flooded
        return await self.run(work)

    def _refuse_at_most(self, refusal: type[Refused]) -> None:
        if self.most is not None and self.inside >= self.most:
            raise refusal

    async def run(self, work: Callable[[], Said]) -> Said:
        """Run more work of a request that was admitted."""
        self.inside += 1
        place = object()
        self.came[place] = time.monotonic()

        def begin() -> Said:
            self.came.pop(place, None)
            return work()

        try:
            return await asyncio.get_running_loop().run_in_executor(self.executor, begin)
        finally:
            self.came.pop(place, None)
            self.inside -= 1
