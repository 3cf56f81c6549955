"""One answer for all who ask at once: then a probe costs the same however many callers it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

SECONDS = 1.0
Said = TypeVar("Said")


class Shared(Generic[Said]):
    """What an address says that says the same to everybody."""

    def __init__(self, lasts: Callable[[Said], bool]) -> None:
        """`lasts`: whether an answer is given out for a second more. Bad news are not."""
        self.lasts = lasts
        self.asked: dict[str, asyncio.Future[Said]] = {}

    async def of(self, method: str, ask: Callable[[], Awaitable[Said]]) -> Said:
        """While it is asked for, and for a second then if it lasts, nobody asks again."""
        kind = "HEAD" if method == "HEAD" else "GET"  # to a probe all the others are the same
        if kind not in self.asked:
            self.asked[kind] = asyncio.ensure_future(self._ask(kind, ask))
        # Whoever asked first may leave; the others still wait.
        return await asyncio.shield(self.asked[kind])

    async def _ask(self, kind: str, ask: Callable[[], Awaitable[Said]]) -> Said:
        lasts = False
        try:
            said = await ask()
            lasts = self.lasts(said)
            return said
        finally:
            asyncio.get_running_loop().call_later(SECONDS * lasts, self.asked.pop, kind)
