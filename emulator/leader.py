"""An emulator of several processes: followers serve, the leader holds what there is one of."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

from emulator.doors.console import Console
from emulator.doors.parts import Parts
from emulator.follower import (
    ACCEPTED,
    ASK,
    DO,
    DONE,
    READY,
    REPLY,
    Follower,
    reply_of,
    request_from,
)
from emulator.server import TICK_SECONDS, greet, stop_on_signals
from emulator.wire import Wire
from emulator.witness.ledger import Book

Run = Callable[[Coroutine[Any, Any, None]], None]


class Leader:
    def __init__(self, parts: Parts, book: Book) -> None:
        self._book = book
        self._console = Console(parts=parts, crew=self, book=book)
        self._wires: list[Wire] = []
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, command: str, argument: Any = None) -> list[Any]:
        """Have every follower perform the command."""
        return list(await asyncio.gather(*(self._do(w, command, argument) for w in self._wires)))

    async def lead(self, ends: list[socket.socket], listener: socket.socket) -> None:
        """Until a signal, or until a follower dies: then RuntimeError, for one is not enough."""
        stop = stop_on_signals()
        self._wires = [await Wire.over(end) for end in ends]
        ready = [asyncio.Event() for _ in ends]
        followers = [
            asyncio.create_task(self._hear(wire, is_ready))
            for wire, is_ready in zip(self._wires, ready, strict=True)
        ]
        for is_ready in ready:
            await is_ready.wait()
        greet(listener)
        listener.close()
        try:
            while not stop.is_set():
                self._book.witness.flush()
                if any(follower.done() for follower in followers):
                    raise RuntimeError("one of its processes died")
                await asyncio.sleep(TICK_SECONDS)
        finally:
            stop_children()
            await asyncio.gather(*followers)  # to their end: what they accepted last is in it
            self._book.witness.close()
            for child in children:
                os.waitpid(child, 0)

    async def _hear(self, wire: Wire, is_ready: asyncio.Event) -> None:
        while (heard := await wire.hear()) is not None:
            match heard:
                case [what] if what == READY:
                    is_ready.set()
                case [what, rows] if what == ACCEPTED:
                    self._book.take(rows)
                case [what, number, answer] if what == DONE:
                    self._asked[number].set_result(answer)
                case [what, number, *request] if what == ASK:
                    task = asyncio.create_task(self._answer(wire, number, request))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def _do(self, wire: Wire, command: str, argument: Any) -> Any:
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        wire.say(DO, number, command, argument)
        try:
            return await self._asked[number]
        finally:
            del self._asked[number]

    async def _answer(self, wire: Wire, number: int, request: list[str]) -> None:
        reply = await self._console.answer(*request_from(request))
        wire.say(REPLY, number, reply_of(reply))


children: list[int] = []


def stop_children() -> None:
    for child in children:
        try:
            os.kill(child, signal.SIGTERM)
        except ProcessLookupError:
            continue


def fork_followers(
    parts: Parts, listeners: list[socket.socket], context: ssl.SSLContext, run: Run
) -> list[socket.socket]:
    """Start one follower for each listener; the leader's ends of the wires."""
    ends: list[socket.socket] = []
    for process, listener in enumerate(listeners):
        ours, theirs = socket.socketpair()
        child = os.fork()
        if not child:
            for end in (ours, *ends, *(each for each in listeners if each is not listener)):
                end.close()
            parts.belong_to(process)
            try:
                run(Follower(parts).serve(listener, context, theirs))
            finally:
                os._exit(0)
        children.append(child)
        theirs.close()
        ends.append(ours)
    return ends
