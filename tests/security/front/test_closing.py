"""An answer that was begun is ended, however it ends: Django counts on it to let things go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from config.front.front import Front
from tests.security.front.scope import SCOPE


class Parts:
    """`whole`: so many parts come before it fails."""

    def __init__(self, whole: int) -> None:
        self.whole, self.closed = whole, 0

    def __iter__(self) -> Iterator[bytes]:
        yield from [b"x" * 70_000] * self.whole
        raise RuntimeError("innermost words")

    def close(self) -> None:
        self.closed += 1


def said_of(parts: Parts, *, failing_at: str = "") -> list[dict[str, Any]]:
    """What the caller was told; `failing_at`: the event that cannot be sent."""
    said: list[dict[str, Any]] = []

    def product(_: dict[str, Any], start: Any) -> Parts:
        start("200 OK", [])
        return parts

    async def send(event: dict[str, Any]) -> None:
        if event["type"] == failing_at:
            raise OSError("nobody there")
        said.append(event)

    asyncio.run(Front(product)(SCOPE, asyncio.Event().wait, send))
    return said


def test_an_answer_that_fails_at_once_is_closed_and_told() -> None:
    parts = Parts(0)
    start, body = said_of(parts)
    assert (start["status"], parts.closed) == (500, 1)
    assert b"on our side" in body["body"]


def test_an_answer_that_fails_later_is_closed() -> None:
    parts = Parts(2)
    assert said_of(parts)[0]["status"] == 200
    assert parts.closed == 1


@pytest.mark.parametrize("event", ["http.response.start", "http.response.body"])
def test_an_answer_that_nobody_can_be_told_is_closed(event: str) -> None:
    parts = Parts(2)
    said_of(parts, failing_at=event)
    assert parts.closed == 1
