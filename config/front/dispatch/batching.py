"""Batching: requests that arrive while others are at work are answered together, in the next turn.

One thread does the work of a turn, so that its costs, such as a commit, are paid for once. A
request that comes alone does not wait. While several come, the next turn waits a moment for more,
because a turn of one costs nearly as much as a turn of three.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from config.front.refusals import Refused

MOST = 100  # requests of a turn
GATHERING = 0.005  # seconds between turns

Asked = TypeVar("Asked")
Said = TypeVar("Said")


@dataclass(eq=False)
class _Request(Generic[Asked, Said]):
    payload: Asked
    answer: asyncio.Future[Said]
    came: float = field(default_factory=time.monotonic)


class Batcher(Generic[Asked, Said]):
    def __init__(
        self,
        answer: Callable[[list[Asked]], Sequence[Said | Refused]],
        *,
        waiting: int,
        within: float,
        refusal: type[Refused],
    ) -> None:
        """`answer`: answers a turn's requests, in their order, in a thread.

        `waiting`: so many requests may wait. `within`: while one waits longer, no other is let in.
        """
        self.answer, self.most, self.within, self.refusal = answer, waiting, within, refusal
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="together")
        self.waiting: deque[_Request[Asked, Said]] = deque()
        self.work: asyncio.Task[None] | None = None  # while there is some

    async def ask(self, payload: Asked) -> Said:
        """Wait for the answer of the request's turn. Raises Refused."""
        late = self.waiting and time.monotonic() - self.waiting[0].came > self.within
        if late or len(self.waiting) >= self.most:
            raise self.refusal
        request = _Request[Asked, Said](payload, asyncio.get_running_loop().create_future())
        self.waiting.append(request)
        if self.work is None:
            self.work = asyncio.create_task(self._turns())
        return await request.answer

    async def _turns(self) -> None:
        try:
            while self.waiting:
                turn = [self.waiting.popleft() for _ in range(min(MOST, len(self.waiting)))]
                await self._turn(turn)
                if len(turn) > 1 or self.waiting:  # not for one caller that calls again at once
                    await self._let_gather()
        finally:
            self.work = None

    async def _let_gather(self) -> None:
        if len(self.waiting) < MOST:
            await asyncio.sleep(GATHERING)

    async def _turn(self, turn: list[_Request[Asked, Said]]) -> None:
        payloads = [request.payload for request in turn]
        answers: Sequence[Said | Exception]
        try:
            answers = await asyncio.get_running_loop().run_in_executor(
                self.thread, self.answer, payloads
            )
        except Exception as error:
            answers = [error] * len(turn)
        for request, answer in zip(turn, answers, strict=True):
            if request.answer.done():  # its caller has gone
                continue
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)
