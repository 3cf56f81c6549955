"""The two halves of one exchange: what was asked, and how it ends."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Request:
    """One HTTP request as far as the emulator reads it; filled in while it is parsed."""

    __slots__ = ("authorization", "body", "connection", "method", "target")

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.method = b""
        self.target = b""
        self.authorization = b""
        self.body = b""


class Ending(Enum):
    ANSWER = "the payload is written"
    CLOSE = "the connection is closed without an answer"
    RESET = "the connection is reset"


# Looking a member up on its class is slow enough to show, three times a message.
ANSWER, CLOSE, RESET = Ending


class Reaction(NamedTuple):
    """How a request ends, and how many seconds after it was read."""

    payload: bytes = b""
    delay: float = 0.0
    ending: Ending = ANSWER
