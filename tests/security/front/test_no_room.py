"""Whoever was let go because there was no room is not let in after all."""

from __future__ import annotations

import asyncio
from typing import Any

from config.front.front import Front
from config.front.worker_limits import Limits
from tests.security.front.scope import SCOPE


def test_a_body_whose_last_part_finds_no_room_is_refused() -> None:
    asked: list[Any] = []
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 150, "more_body": False}

    async def send(event: dict[str, Any]) -> None:
        said.append(event)

    def product(environ: dict[str, Any], start: Any) -> list[bytes]:
        asked.append(environ)
        start("200 OK", [])
        return [b""]

    front = Front(product, Limits(memory=100))
    scope = {**SCOPE, "method": "POST", "headers": [(b"content-length", b"150")]}
    asyncio.run(front(scope, receive, send))
    assert (said[0]["status"], asked, front.memory.held) == (408, [], 0)
