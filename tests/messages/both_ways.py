"""A web process as callers of POST messages have it: the front, the express, and Django behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.db import connections

from config.express import express
from config.front.dispatch.batched_route import FastPath, WholeAnswer
from config.front.front import Front
from config.front.refusals import Refused
from config.front.worker_limits import Limits
from tests.security.front.scope import SCOPE

Answers = list[WholeAnswer | Refused | None]
handler = cache(WSGIHandler)


@dataclass(frozen=True)
class Heard:
    status: int
    headers: dict[str, str]
    said: Any


class Web:
    """`turns`: how many each had; `ordinary`: how many calls Django was asked."""

    def __init__(self, *, short: bool = True) -> None:
        self.turns, self.ordinary = list[int](), 0
        way = FastPath(express.WAY.takes, self._turn) if short else None
        self.front = Front(self._product, Limits(threads=1), short=way)
        self.before: Callable[[], None] = lambda: None  # a turn

    def _turn(self, environs: list[dict[str, Any]]) -> Answers:
        self.before()
        self.turns.append(len(environs))
        return express.WAY.answer(environs)

    def _product(self, environ: dict[str, Any], start: Any) -> Any:
        self.ordinary += 1
        return handler()(environ, start)

    def post(self, key: str, *bodies: Any, **headers: str) -> list[Heard]:
        """All at once."""
        return self.run([self.one(key, body, **headers) for body in bodies])

    def run(self, asking: list[Any]) -> list[Any]:
        async def all_of_them() -> list[Any]:
            try:
                return await asyncio.gather(*asking)
            finally:
                self._close()

        return asyncio.run(all_of_them())

    async def one(
        self, key: str, body: Any, path: str = "/api/v1/messages", **headers: str
    ) -> Heard:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"host": "localhost", "content-type": "application/json",
                 "authorization": f"Bearer {key}", "content-length": str(len(sent)),
                 **{name.replace("_", "-"): value for name, value in headers.items()}}  # fmt: skip
        path, _, query = path.partition("?")
        scope = {**SCOPE, "method": "POST", "raw_path": path.encode(),
                 "query_string": query.encode(),
                 "headers": [(n.encode(), v.encode()) for n, v in given.items()]}  # fmt: skip
        told: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(event: dict[str, Any]) -> None:
            told.append(event)

        await self.front(scope, receive, send)
        whole = b"".join(event.get("body", b"") for event in told)
        headers_of = {n.decode(): v.decode() for n, v in told[0]["headers"]}
        return Heard(told[0]["status"], headers_of, json.loads(whole))

    def _close(self) -> None:
        """The connections of its threads, which the next test would find busy."""
        for executor in self._executors():
            executor.submit(connections.close_all).result()

    def _executors(self) -> Iterator[Any]:
        yield self.front.pages.executor
        if self.front.turns:
            yield self.front.turns.thread
