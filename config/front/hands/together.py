"""Requests that are answered together: who comes while others are at work has the next turn.

One thread does the work of a turn, so that what they need, as a commit, is paid for once. A request
that comes alone waits for nobody.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from config.front.refusals import Flooded, Refused

MOST = 100  # of a turn


@dataclass(frozen=True)
class Said:
    """A whole answer."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True)
class Way:
    """`takes`: asked of each request, in no time. `answer`: of a turn's, in a thread; None for
    those that are to be answered by the product after all."""

    takes: Callable[[dict[str, Any]], bool]
    answer: Callable[[list[dict[str, Any]]], list[Said | Refused | None]]


@dataclass(eq=False)
class _Request:
    environ: dict[str, Any]
    said: asyncio.Future[Said | None]
    came: float = field(default_factory=time.monotonic)


class Together:
    def __init__(self, way: Way, *, waiting: int, within: float) -> None:
        """`waiting`: so many may. `within`: while one waits for longer, no other is let in."""
        self.way, self.most, self.within = way, waiting, within
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="together")
        self.waiting: deque[_Request] = deque()
        self.work: asyncio.Task[None] | None = None  # while there is some

    def takes(self, environ: dict[str, Any]) -> bool:
        return self.way.takes(environ)

    async def ask(self, environ: dict[str, Any]) -> Said | None:
        """Raises Refused."""
        late = self.waiting and time.monotonic() - self.waiting[0].came > self.within
        if late or len(self.waiting) >= self.most:
            raise Flooded
        request = _Request(environ, asyncio.get_running_loop().create_future())
        self.waiting.append(request)
        if self.work is None:
            self.work = asyncio.create_task(self._turns())
        return await request.said

    async def _turns(self) -> None:
        try:
            while self.waiting:
                turn = [self.waiting.popleft() for _ in range(min(MOST, len(self.waiting)))]
                await self._turn(turn)
        finally:
            self.work = None

    async def _turn(self, turn: list[_Request]) -> None:
        asked = [request.environ for request in turn]
        answers: list[Said | Exception | None]
        try:
            answers = list(
                await asyncio.get_running_loop().run_in_executor(
                    self.thread, self.way.answer, asked
                )
            )
        except Exception as error:
            answers = [error] * len(turn)
        for request, answer in zip(turn, answers, strict=True):
            if request.said.done():  # its caller has gone
                continue
            if isinstance(answer, Exception):
                request.said.set_exception(answer)
            else:
                request.said.set_result(answer)
