"""The two halves of one exchange: what was asked, and how it ends."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Request:
    """One HTTP request as far as the emulator reads it; filled in while it is parsed."""

    __slots__ = ("authorization", "body", "connection", "host", "method", "origin", "target")

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.method = b""
        self.target = b""
        self.authorization = b""
        self.host = b""
        self.origin = b""  # of the page that asks; a program has none
        self.body = b""


class Ending(Enum):
    ANSWER = "the payload is written"
    CLOSE = "the connection is closed without an answer"
    RESET = "the connection is reset"
    LAST = "the payload is written with Connection: close, and so it is"
    CUT = "half of the payload is written, then the connection is reset"
    CUT_BODY = "the head and half of the body are written, then the connection is reset"
    TRICKLE = "the payload is written a few bytes at a time"


# Looking a member up on its class is slow enough to show, three times a message.
ANSWER, CLOSE, RESET, LAST, CUT, CUT_BODY, TRICKLE = Ending

PIECE_BYTES = 16  # of what trickles


class Reaction(NamedTuple):
    """How a request ends, and how many seconds after it was read."""

    payload: bytes = b""
    delay: float = 0.0
    ending: Ending = ANSWER
    pause: float = 0.0  # seconds between two pieces of what trickles
