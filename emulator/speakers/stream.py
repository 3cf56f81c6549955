"""One HTTP/2 stream: a request, and what of its answer is still to be sent."""

from __future__ import annotations

import asyncio
from functools import lru_cache

from emulator.http.exchange import (
    CLOSE,
    CUT,
    CUT_BODY,
    PIECE_BYTES,
    RESET,
    TRICKLE,
    Reaction,
    Request,
)

Headers = tuple[tuple[bytes, bytes], ...]

SILENT = (CLOSE, RESET)
CUTS = (CUT, CUT_BODY)


class Stream:
    __slots__ = (
        "breaks_off",
        "held",
        "id",
        "is_answered",
        "is_asked",
        "pause",
        "reaction",
        "request",
        "task",
        "timer",
        "unsent",
    )

    def __init__(self, number: int, request: Request) -> None:
        self.id = number
        self.request = request
        self.is_asked = False  # all of the request is here
        self.reaction = Reaction()
        self.timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.is_answered = False
        self.breaks_off = False  # instead of an end it has RST_STREAM
        self.unsent = b""
        self.held: list[bytes] = []  # pieces that wait for their moment
        self.pause = 0.0  # between two of them

    @property
    def is_sent(self) -> bool:
        return self.is_answered and not self.unsent and not self.held

    def answer(self) -> Headers:
        """Take up the body of the answer; its headers, none if there is silence instead."""
        self.is_answered = True
        payload, _, ending, pause = self.reaction
        self.breaks_off = ending in SILENT or ending in CUTS
        if ending in SILENT:
            return ()
        head, _, body = payload.partition(b"\r\n\r\n")
        if ending in CUTS:
            body = body[: len(body) // 2] if ending is CUT_BODY else b""
        if ending is TRICKLE:
            # Headers come at once, so the body has the time of the whole.
            self.pause = pause * len(payload) / (len(body) or 1)
        size = PIECE_BYTES if ending is TRICKLE else len(body) or 1
        self.held = [body[start : start + size] for start in range(0, len(body), size)]
        return _headers(head)

    def release(self) -> None:
        """The next piece may be sent."""
        if self.held:
            self.unsent += self.held.pop(0)


@lru_cache(maxsize=256)
def _headers(head: bytes) -> Headers:
    """A head of HTTP/1.1 in the words of HTTP/2."""
    status, *lines = head.split(b"\r\n")
    named = (line.split(b": ", 1) for line in lines)
    return ((b":status", status[9:12]), *((name.lower(), value) for name, value in named))
