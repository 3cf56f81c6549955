"""Above what can be stored, calls that send are told to come back; what was let in is answered."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from config.front.dispatch.batched_route import FastPath, WholeAnswer
from config.front.front import Front
from config.front.refusals import Refused
from config.front.worker_limits import Limits
from tests.security.front.scope import SCOPE

SENDING = ["/api/v1/messages", "/api/v1/messages/bulk"]


class Web:
    """A front with one thread, whose requests are answered when `go` is set. `short`: in turns."""

    def __init__(self, *, short: bool = False, **limits: Any) -> None:
        self.go, self.asked = threading.Event(), 0
        way = FastPath(lambda environ: environ["REQUEST_METHOD"] == "POST", self._turn)
        self.front = Front(self._product, Limits(threads=1, **limits), short=way if short else None)

    def _turn(self, environs: list[dict[str, Any]]) -> list[WholeAnswer | Refused | None]:
        self.asked += len(environs)
        self.go.wait(20)
        return [WholeAnswer(202, [], b"")] * len(environs)

    def _product(self, environ: dict[str, Any], start: Any) -> list[bytes]:
        self.asked += 1
        self.go.wait(20)
        start("202 Accepted", [])
        return [b""]

    async def ask(self, path: str, method: str = "POST") -> tuple[int, dict[bytes, bytes], bytes]:
        said: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(event: dict[str, Any]) -> None:
            said.append(event)

        headers = [(b"content-length", b"2"), (b"authorization", b"Bearer car_x")]
        scope = {**SCOPE, "method": method, "raw_path": path.encode(), "headers": headers}
        await self.front(scope, receive, send)
        body = b"".join(event.get("body", b"") for event in said)
        return said[0]["status"], dict(said[0]["headers"]), body


@pytest.mark.parametrize("path", SENDING)
def test_while_somebody_waits_too_long_no_other_sender_is_let_in(path: str) -> None:
    async def play() -> None:
        web = Web(sender_seconds=0.05)
        let_in = [asyncio.create_task(web.ask(SENDING[0])) for _ in range(3)]
        await asyncio.sleep(0.2)

        status, headers, body = await web.ask(path)
        assert (status, headers[b"retry-after"]) == (429, b"5")
        told = json.loads(body)
        assert told["type"] == "urn:carillon:flooded"
        assert "messages/bulk" in told["detail"]
        reader = asyncio.create_task(web.ask("/api/v1/messages/9-1", "GET"))

        web.go.set()
        assert [answer[0] for answer in await asyncio.gather(*let_in, reader)] == [202] * 4
        assert (await web.ask(path))[0] == 202  # as soon as nobody waits any more
        assert web.asked == 5

    asyncio.run(play())


def test_senders_beyond_the_last_place_are_told_to_come_back_later() -> None:
    async def play() -> None:
        web = Web(waiting=1)
        let_in = [asyncio.create_task(web.ask(SENDING[0])) for _ in range(2)]
        await asyncio.sleep(0.1)
        assert (await web.ask(SENDING[0]))[0] == 429
        assert (await web.ask("/api/v1/contacts/bulk"))[0] == 503
        web.go.set()
        assert [answer[0] for answer in await asyncio.gather(*let_in)] == [202, 202]

    asyncio.run(play())


def test_while_a_turn_lasts_too_long_for_who_waits_no_other_is_let_in() -> None:
    async def play() -> None:
        web = Web(short=True, sender_seconds=0.05)
        at_work = asyncio.create_task(web.ask(SENDING[0]))
        await asyncio.sleep(0.1)
        waits = asyncio.create_task(web.ask(SENDING[0]))
        await asyncio.sleep(0.1)

        status, headers, body = await web.ask(SENDING[0])
        assert (status, headers[b"retry-after"]) == (429, b"5")
        assert json.loads(body)["type"] == "urn:carillon:flooded"

        web.go.set()
        assert [(await one)[0] for one in (at_work, waits)] == [202, 202]
        assert (await web.ask(SENDING[0]))[0] == 202
        assert web.asked == 3

    asyncio.run(play())


def test_no_more_wait_for_a_turn_than_there_are_places() -> None:
    async def play() -> None:
        web = Web(short=True, waiting=1)
        let_in = []
        for _ in range(2):  # one at work, one waiting
            let_in.append(asyncio.create_task(web.ask(SENDING[0])))
            await asyncio.sleep(0.1)
        assert (await web.ask(SENDING[0]))[0] == 429
        web.go.set()
        assert [answer[0] for answer in await asyncio.gather(*let_in)] == [202, 202]

    asyncio.run(play())
