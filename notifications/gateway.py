"""The only seam to the outside: Pushes go in, one Outcome per Push comes back.

A Push carries an opaque reference; its Outcome carries the same one. What the world answered is
returned; only our own mistakes (a key that cannot work) are raised.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Verdict(StrEnum):
    ACCEPTED = "accepted"
    DEAD_ADDRESS = "dead_address"
    BAD_ADDRESS = "bad_address"
    BAD_MESSAGE = "bad_message"
    FOREIGN_ADDRESS = "foreign_address"
    PLATFORM_KEY = "platform_key"  # Firebase cannot speak to Apple, or to the browsers
    THROTTLED = "throttled"
    UNAUTHORISED = "unauthorised"
    TRANSIENT = "transient"
    UNANSWERED = "unanswered"  # the request left, no answer came: it may have been accepted
    UNSENT = "unsent"  # the request never left: sending it later cannot repeat it


class Arrived(StrEnum):
    """Whether the message may be on its way to the phone, whatever the answer was."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


@dataclass(slots=True, kw_only=True)  # frozen, one takes twice as long to make
class Push:
    """One rendered push to one address."""

    reference: str
    is_test: bool = False  # a test send: its data says so, and nothing else does
    only_checked: bool = False  # FCM says whether it would take it, and no phone gets it
    receipt: str = ""  # what the app reports by; empty: it is asked for no receipts
    kind: str
    address: str
    platform: str
    title: str = ""
    body: str = ""
    image: str = ""
    link: str = ""
    browser_link: str = ""  # what a browser opens by itself, if not the link
    data: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of `platform`; see options.py
    buttons: Sequence[Mapping[str, str]] = ()  # id, title, and perhaps a link of its own
    collapse_id: str = ""
    analytics_label: str = ""
    ttl_seconds: int = 86_400
    # As FCM wants it, once `fcm/payload.py` has encoded it: what is checked is what is sent.
    encoded: bytes = field(default=b"", init=False, repr=False, compare=False)


@dataclass(slots=True, kw_only=True)  # frozen, one takes twice as long to make
class Outcome:
    """What became of one Push."""

    reference: str
    verdict: Verdict
    arrived: Arrived
    reason: str = ""
    message_id: str = ""
    detail: str = ""
    retry_after: float | None = None
    http: int = 0  # its status; 0: no answer came
    code: str = ""  # what the answer calls itself, in its own words
    seconds: float | None = None  # from the request to FCM's answer
    raw: bytes = b""  # the answer's body, as it came


class BadCredentials(Exception):
    """The project's key cannot work. A person has to act; trying again cannot help."""


class WrongKey(BadCredentials):
    """It is sealed with a key this process does not have. Others may have it."""


class Permit:
    """Permission to start requests, until it runs out or is withdrawn.

    Watched by the loop thread before each request, so that a pause, and a process that slept past
    its lease, start nothing more. Monotonic time: a stepped clock must not extend it.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def extend(self, seconds: float, *, since: float) -> None:
        if self._until:
            self._until = since + seconds

    def withdraw(self) -> None:
        self._until = 0.0

    @property
    def withdrawn(self) -> bool:
        return self._until == 0.0

    @property
    def valid(self) -> bool:
        return time.monotonic() < self._until


class Gateway(Protocol):
    async def send(self, messages: Sequence[Push], permit: Permit) -> list[Outcome]:
        """An Outcome for every Push, in any order. Messages not started are UNSENT."""
        ...
