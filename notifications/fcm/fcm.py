"""FCM gateway: requests to one Firebase project and its answers, the same over every transport.

`transport/` has the transports. All of it runs in the process's loop thread. If the process dies
here, requests that left have no recorded outcome. The window that was committed before them says
which ones those may be.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from notifications.fcm import verdicts
from notifications.fcm.rules import MAX_TTL
from notifications.gateway import BadCredentials, Outcome, Permit, Push, Verdict
from notifications.keys.minting import TokenUnavailable
from notifications.keys.tokens import AccessTokens
from notifications.proxy import Proxy
from notifications.trust import trusting

# Google's own servers wait up to 10 s: with a shorter timeout, slow answers would count as lost.
ANSWER_WITHIN = 15.0
# Shorter than that: a name that never resolves must not look like a lost answer.
CONNECT_WITHIN = 10.0
ADDRESS_WITHIN = 5.0  # for TCP, whatever addresses the host has; then for TLS
NAMED_FOR = 30  # seconds that resolved addresses are cached
IDLE_FOR = 60.0  # then an idle socket is closed
MAX_HEAD = MAX_BODY = 65_536  # bytes of an answer; FCM's have some hundreds, a page thousands


class Batch:
    """The messages of one `send` call: those still to be sent, and the answers so far."""

    def __init__(self, messages: Sequence[Push], permit: Permit) -> None:
        self._permit = permit
        self._unsent = deque(messages)
        self._missing = len(messages)
        self._answers: list[Outcome] = []
        self._all = asyncio.get_running_loop().create_future()
        if not messages:
            self._all.set_result(None)

    @property
    def may_start(self) -> bool:
        """Whether the permit is valid and the caller still waits."""
        return self._permit.valid and not self._all.done()

    def __len__(self) -> int:
        """The number of messages still to be sent."""
        return len(self._unsent)

    def next(self) -> Push | None:
        return self._unsent.popleft() if self._unsent else None

    def answer(self, outcome: Outcome) -> None:
        self._answers.append(outcome)
        self._missing -= 1
        if not self._missing and not self._all.done():
            self._all.set_result(None)

    def fail(self, error: Exception) -> None:
        if not self._all.done():
            self._all.set_exception(error)

    async def answers(self) -> list[Outcome]:
        await self._all
        return self._answers

    def abandon(self) -> None:
        """Drop unsent messages: the caller has left, or has every answer."""
        self._unsent.clear()


@dataclass(slots=True)
class Request:
    """A message that is being sent, and the batch that gets its outcome."""

    batch: Batch
    message: Push
    token: str = ""  # the access token it was sent with
    is_second: bool = False  # FCM refused the first request because of its token


class Response(NamedTuple):
    status: int
    retry_after: str | None
    body: bytes
    seconds: float  # since the request was written


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Everything that a gateway needs to send to one Firebase project."""

    endpoint: str
    firebase_project_id: str
    tokens: AccessTokens
    connections: int  # the maximum number of sockets
    ca_file: str | None
    proxy: Proxy | None = None  # used only by a transport that supports proxies

    @property
    def url(self) -> str:
        return f"{self.endpoint}/v1/projects/{self.firebase_project_id}/messages:send"

    def tls(self) -> ssl.SSLContext:
        return trusting(self.ca_file)


class FcmGateway(ABC):
    """The gateway of one process to one Firebase project: it orders messages, renews tokens and
    pauses when FCM asks for it. Subclasses send the requests."""

    def __init__(self, to: Destination) -> None:
        self._tokens = to.tokens
        self._closed_until = 0.0
        self._is_closed = False
        self._batches: deque[Batch] = deque()

    async def send(self, messages: Sequence[Push], permit: Permit) -> list[Outcome]:
        await self._ready()
        batch = Batch(messages, permit)
        self._batches.append(batch)
        self._set_out()
        try:
            return await batch.answers()
        finally:
            batch.abandon()
            with suppress(ValueError):  # `_next` has usually removed it already
                self._batches.remove(batch)

    @abstractmethod
    def _set_out(self) -> None:
        """Start sending what waits. Each request must get an answer in its batch."""

    async def close(self) -> None:
        """Start no more requests. Requests under way stay unanswered."""
        self._is_closed = True
        while request := self._next():
            request.batch.answer(not_started(request.message, 0.0))
        await self._hang_up()

    @abstractmethod
    async def _hang_up(self) -> None:
        """Close every socket."""

    async def _ready(self) -> None:
        """Raise BadCredentials before any request leaves. If the token endpoint does not answer,
        continue: each request asks it again.
        """
        try:
            await self._tokens.current()
        except TokenUnavailable:
            return

    def _next(self) -> Request | None:
        while self._batches:
            message = self._batches[0].next()
            if message is not None:
                return Request(self._batches[0], message)
            self._batches.popleft()
        return None

    def _held_back(self, batch: Batch) -> float | None:
        """Return None if a request of this batch may leave now, else the seconds to wait. Call it
        just before the request leaves: a token or a socket may take long."""
        closed_for = self._closed_until - time.monotonic()
        if closed_for <= 0:
            return None if batch.may_start and not self._is_closed else 0.0
        return closed_for

    def _understood(self, request: Request, response: Response) -> Outcome | None:
        """Turn an answer into an Outcome. None: repeat the request once, with a fresh token."""
        if response.status == 200:
            return _accepted(request.message, response)
        ruling, answer = verdicts.classify(response.status, response.body)
        is_ours = response.status == 401 and ruling.verdict is Verdict.UNAUTHORISED
        if is_ours and not request.is_second:
            self._tokens.reject(request.token)
            return None
        wait = verdicts.retry_after(response.retry_after, http=response.status, now=time.time())
        if ruling.reason == "throttled" and wait:
            self._close_for(wait)
        outcome = outcome_of(request.message, ruling, detail=answer.words, retry_after=wait)
        outcome.http, outcome.code = response.status, str(answer.name)
        outcome.seconds, outcome.raw = response.seconds, response.body
        return outcome

    def _close_for(self, seconds: float) -> None:
        """Send nothing for this time: FCM told the whole project to wait. Messages that have not
        left would only be refused, too. The pacing gate learns of it once this window is settled.
        """
        until = time.monotonic() + min(seconds, MAX_TTL)
        self._closed_until = max(self._closed_until, until)


def not_started(message: Push, wait: float) -> Outcome:
    return outcome_of(message, verdicts.NOT_STARTED, retry_after=wait)


def never_left(message: Push, error: BaseException) -> Outcome:
    """Return the outcome of a message that could not leave. An error that is raised would lose the
    answers to the other requests."""
    if isinstance(error, BadCredentials):
        return outcome_of(message, verdicts.NO_TOKEN, detail=str(error))
    if isinstance(error, orjson.JSONEncodeError):
        return outcome_of(message, verdicts.NOT_ENCODED, detail=str(error))
    return outcome_of(message, verdicts.NEVER_LEFT, detail=str(error) or type(error).__name__)


def unanswered(message: Push, error: Exception) -> Outcome:
    # Its text, not its repr: the repr shows the request's headers, and so our token.
    detail = f"{type(error).__name__}: {error}"[:500]
    return outcome_of(message, verdicts.NO_ANSWER, detail=detail)


def _accepted(message: Push, response: Response) -> Outcome:
    try:
        name = str(orjson.loads(response.body)["name"])
    except (ValueError, KeyError, TypeError):
        name = ""
    outcome = outcome_of(message, verdicts.ACCEPTED, message_id=name, seconds=response.seconds)
    outcome.raw = response.body
    return outcome


def outcome_of(
    message: Push,
    ruling: verdicts.Ruling,
    *,
    message_id: str = "",
    detail: str = "",
    retry_after: float | None = None,
    seconds: float | None = None,
) -> Outcome:
    return Outcome(
        reference=message.reference,
        verdict=ruling.verdict,
        arrived=ruling.arrived,
        reason=ruling.reason,
        message_id=message_id,
        detail=detail,
        retry_after=retry_after,
        seconds=seconds,
    )
