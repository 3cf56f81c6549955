"""One of several serving processes. It accepts messages; the leader witnesses them."""

from __future__ import annotations

import asyncio
import base64
import itertools
import socket
import ssl
from typing import Any

from emulator.doors.parts import Parts
from emulator.doors.routes import Routes
from emulator.http.replies import Reply
from emulator.server import Server, stop_on_signals
from emulator.wire import Wire
from emulator.witness.ledger import Outbox

# From a follower to the leader, and back.
READY, ACCEPTED, DONE, ASK = "ready", "accepted", "done", "ask"
DO, REPLY = "do", "reply"


class Follower:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._outbox = Outbox(parts.settings)
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[Reply | None]] = {}

    async def serve(
        self, listener: socket.socket, context: ssl.SSLContext, leader: socket.socket
    ) -> None:
        stop = stop_on_signals()
        self._wire = await Wire.over(leader)
        listening = asyncio.create_task(self._obey(stop))
        routes = Routes(
            fcm=self._parts.fcm(self._outbox),
            desk=self._parts.desk,
            faults=self._parts.faults,
            elsewhere=self._ask,
        )
        await Server(self._parts, routes).serve(
            listener,
            context,
            stop=stop,
            ready=lambda: self._wire.say(READY),
            tick=self._hand_in,
        )
        self._hand_in()
        listening.cancel()
        await self._wire.close()

    def _hand_in(self) -> None:
        rows = self._outbox.empty()
        if rows:
            self._wire.say(ACCEPTED, rows)

    async def _obey(self, stop: asyncio.Event) -> None:
        while (heard := await self._wire.hear()) is not None:
            what, number, *rest = heard
            if what == DO:
                self._do(number, *rest)
            elif not self._asked[number].done():
                self._asked[number].set_result(_reply_from(rest[0]))
        stop.set()  # the leader is gone

    def _do(self, number: int, command: str, argument: Any) -> None:
        self._hand_in()  # before the answer, so that whoever reads it next finds it witnessed
        self._wire.say(DONE, number, self._parts.perform(command, argument))

    async def _ask(self, method: bytes, target: bytes, body: bytes) -> Reply | None:
        """Have the leader's console answer."""
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._wire.say(ASK, number, *(_text(part) for part in (method, target, body)))
        try:
            return await self._asked[number]
        finally:
            del self._asked[number]


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def request_from(parts: list[str]) -> tuple[bytes, bytes, bytes]:
    method, target, body = (base64.b64decode(part) for part in parts)
    return method, target, body


def reply_of(reply: Reply | None) -> list[str] | None:
    return reply and [_text(reply.head), _text(reply.body)]


def _reply_from(parts: list[str] | None) -> Reply | None:
    return Reply(*(base64.b64decode(part) for part in parts)) if parts else None
