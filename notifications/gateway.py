"""Gateway: the only interface to push services. Pushes go in, one Outcome per Push comes back.

A Push carries an opaque reference, and its Outcome carries the same one. Answers from outside are
returned. Only our own mistakes, such as a key that cannot work, are raised.
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
    PLATFORM_KEY = "platform_key"  # Firebase's own key for Apple or for browsers does not work
    THROTTLED = "throttled"
    UNAUTHORISED = "unauthorised"
    TRANSIENT = "transient"
    UNANSWERED = "unanswered"  # the request left, no answer came: it may have been accepted
    UNSENT = "unsent"  # the request never left: sending it later cannot repeat it


class Arrived(StrEnum):
    """Whether the message may reach the phone, independent of FCM's answer."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


@dataclass(slots=True, kw_only=True)  # not frozen: that takes twice as long to create
class Push:
    """One rendered push to one address."""

    reference: str
    is_test: bool = False  # a test send; only its data says so
    only_checked: bool = False  # FCM only validates it, and no phone gets it
    receipt: str = ""  # the id with which the app reports receipts; empty: no receipts wanted
    kind: str
    address: str
    platform: str
    title: str = ""
    body: str = ""
    image: str = ""
    link: str = ""
    browser_link: str = ""  # the address that a browser opens, if it is not `link`
    data: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of `platform`; see options.py
    buttons: Sequence[Mapping[str, str]] = ()  # id, title, and optionally a link
    collapse_id: str = ""
    analytics_label: str = ""
    ttl_seconds: int = 86_400
    # The request body, once `fcm/payload.py` has encoded it: what is checked is what is sent.
    encoded: bytes = field(default=b"", init=False, repr=False, compare=False)


@dataclass(slots=True, kw_only=True)  # not frozen: that takes twice as long to create
class Outcome:
    """The result of one Push."""

    reference: str
    verdict: Verdict
    arrived: Arrived
    reason: str = ""
    message_id: str = ""
    detail: str = ""
    retry_after: float | None = None
    http: int = 0  # the HTTP status; 0: no answer came
    code: str = ""  # the error code in FCM's answer
    seconds: float | None = None  # from the request to FCM's answer
    raw: bytes = b""  # the unchanged body of the answer


class BadCredentials(Exception):
    """The project's key cannot work. A person has to act: a retry cannot help."""


class WrongKey(BadCredentials):
    """The credentials are encrypted with a key that this process does not have. Other processes may
    have it."""


class Permit:
    """Permission to start requests, until it expires or is withdrawn.

    The loop's thread checks it before each request. So nothing more starts after a pause, or in a
    process that slept past its lease. It uses monotonic time: a clock that is set back must not
    extend it.
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
        """Return an Outcome for every Push, in any order. Messages that were not started are
        UNSENT."""
        ...
