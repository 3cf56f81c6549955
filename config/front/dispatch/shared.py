"""Shared answers: one for all callers at once, so a probe costs the same for one caller or many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

SECONDS = 1.0
Said = TypeVar("Said")


class Shared(Generic[Said]):
    """The answer of an address that is the same for every caller."""

    def __init__(self, lasts: Callable[[Said], bool]) -> None:
        """`lasts`: whether an answer is given out for a second more. Bad news is not."""
        self.lasts = lasts
        self.pending: dict[str, asyncio.Future[Said]] = {}

    async def answer(self, method: str, ask: Callable[[], Awaitable[Said]]) -> Said:
        """The answer. Nobody asks again while it is made, and for a second more if it lasts."""
        kind = "HEAD" if method == "HEAD" else "GET"  # to a probe all other methods are the same
        if kind not in self.pending:
            self.pending[kind] = asyncio.ensure_future(self._ask(kind, ask))
        # The first caller may leave; the others still wait.
        return await asyncio.shield(self.pending[kind])

    async def _ask(self, kind: str, ask: Callable[[], Awaitable[Said]]) -> Said:
        lasts = False
        try:
            answer = await ask()
            lasts = self.lasts(answer)
            return answer
        finally:
            asyncio.get_running_loop().call_later(SECONDS * lasts, self.pending.pop, kind)
