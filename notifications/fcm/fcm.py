"""FCM over HTTP: one request per message, few warm sockets, TLS always verified.

All of it runs in the process's loop thread. If the process dies here, requests that left have no
recorded outcome; the window opened before them says which those may be.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast

import aiohttp
import orjson
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from notifications.fcm import payload, verdicts
from notifications.fcm.rules import MAX_TTL
from notifications.gateway import BadCredentials, Outcome, Permit, Push, Verdict
from notifications.keys.minting import TokenUnavailable
from notifications.keys.tokens import AccessTokens

# Google's own servers wait 10 s inside: a shorter total would call slow answers lost.
# `connect` ends before it: a name that is never resolved must not look like a lost answer.
TIMEOUT = aiohttp.ClientTimeout(total=15, connect=10, sock_connect=5)
NEVER_LEFT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, TokenUnavailable)


PERMIT: ContextVar[Permit] = ContextVar("permit")  # of the request that asks for a socket


class TooLate(Exception):
    """The permit ended while the request waited for its socket."""


class Sockets(aiohttp.TCPConnector):
    """Asks for the permit once the socket is there: a new one takes a name, TCP and TLS first."""

    async def connect(self, *args: Any, **more: Any) -> Connection:
        socket = await super().connect(*args, **more)
        if not PERMIT.get().valid:
            socket.release()
            raise TooLate
        return socket


class Batch:
    """The messages of one call: what is still to be sent, and the answers so far."""

    def __init__(self, messages: Sequence[Push], permit: Permit) -> None:
        self.permit = permit
        self._unsent = iter(messages)
        self._missing = len(messages)
        self._answers: list[Outcome] = []
        self._all = asyncio.get_running_loop().create_future()
        if not messages:
            self._all.set_result(None)

    def next(self) -> Push | None:
        return next(self._unsent, None)

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
        """The caller has gone, or has every answer: start nothing more."""
        self._unsent = iter(())


class FcmGateway:
    """One Firebase project in one process: a session, its tokens, and the sockets' limit."""

    def __init__(
        self,
        *,
        endpoint: str,
        firebase_project_id: str,
        tokens: AccessTokens,
        connections: int,
        ca_file: str | None,
    ) -> None:
        self._url = URL(f"{endpoint}/v1/projects/{firebase_project_id}/messages:send")
        self._tokens = tokens
        self._headers: tuple[str, CIMultiDict[str]] = ("", CIMultiDict())
        self._closed_until = 0.0
        self._batches: deque[Batch] = deque()
        self._lanes: set[asyncio.Task[None]] = set()
        self._most_lanes = connections
        tls = ssl.create_default_context(cafile=ca_file)
        self._session = aiohttp.ClientSession(
            connector=Sockets(limit=connections, ssl=tls, keepalive_timeout=60),
            timeout=TIMEOUT,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )

    async def send(self, messages: Sequence[Push], permit: Permit) -> list[Outcome]:
        await self._ready()
        batch = Batch(messages, permit)
        self._batches.append(batch)
        for _ in range(min(len(messages), self._most_lanes - len(self._lanes))):
            self._lanes.add(asyncio.create_task(self._drive()))
        try:
            return await batch.answers()
        finally:
            batch.abandon()

    async def close(self) -> None:
        await self._session.close()

    async def _ready(self) -> None:
        """Raise BadCredentials before anything leaves. A token endpoint that does not answer is no
        reason yet: each request asks it again.
        """
        try:
            await self._tokens.current()
        except TokenUnavailable:
            return

    async def _drive(self) -> None:
        """A lane: one request after the other, for whichever batch has any left.

        A task for each message, with a semaphore to hold most of them back, cost a fifth of it all.
        """
        while self._batches:
            batch = self._batches[0]
            message = batch.next()
            if message is None:
                self._batches.popleft()
                continue
            try:
                outcome = await self._attempt(message, batch.permit)
            except Exception as error:
                batch.fail(error)
            else:
                batch.answer(outcome)
        # Here, not once the task is done: a `send` that runs before that would count on this lane.
        self._lanes.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _attempt(self, message: Push, permit: Permit, *, first: bool = True) -> Outcome:
        try:
            token = await self._tokens.current()
            # Asked late: a token may take its time.
            closed_for = self._closed_until - time.monotonic()
            if not permit.valid or closed_for > 0:
                return _outcome(message, verdicts.NOT_STARTED, retry_after=max(0.0, closed_for))
            encoded, began = payload.encode(message), time.monotonic()
            status, headers, body = await self._post(encoded, token, permit)
            seconds = time.monotonic() - began
        except TooLate:
            return _outcome(message, verdicts.NOT_STARTED, retry_after=0.0)
        except BadCredentials as error:
            # Not raised: the answers of the requests beside this one must not be lost with it.
            return _outcome(message, verdicts.NO_TOKEN, detail=str(error))
        except orjson.JSONEncodeError as error:
            return _outcome(message, verdicts.NOT_ENCODED, detail=str(error))
        except NEVER_LEFT as error:
            return _outcome(message, verdicts.NEVER_LEFT, detail=str(error))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _outcome(message, verdicts.NO_ANSWER, detail=_in_words(error))
        if status == 200:
            return _accepted(message, body, seconds)
        ruling, answer = verdicts.classify(status, body)
        if status == 401 and ruling.verdict is Verdict.UNAUTHORISED and first:
            self._tokens.reject(token)  # once more, with a fresh one
            return await self._attempt(message, permit, first=False)
        wait = verdicts.retry_after(headers.get("Retry-After"), http=status, now=time.time())
        if ruling.reason == "throttled" and wait:
            self._close_for(wait)
        outcome = _outcome(message, ruling, detail=answer.words, retry_after=wait, seconds=seconds)
        outcome.http, outcome.code = status, str(answer.name)
        return outcome

    def _close_for(self, seconds: float) -> None:
        """The whole project was told to wait. What has not left yet would only be refused too,
        and the gate hears of it when this window has settled.
        """
        until = time.monotonic() + min(seconds, MAX_TTL)
        self._closed_until = max(self._closed_until, until)

    async def _post(
        self, body: bytes, token: str, permit: Permit
    ) -> tuple[int, Mapping[str, str], bytes]:
        PERMIT.set(permit)
        # A redirect is no acceptance: followed, it would end in somebody's page and a 200.
        reply = await self._session.post(
            self._url, data=body, headers=self._headers_with(token), allow_redirects=False
        )
        try:
            # Read to its end, or broken: either way it lets go of its socket by itself.
            return reply.status, reply.headers, await reply.read()
        except (aiohttp.ClientError, TimeoutError, OSError):
            if reply.status != 200:
                raise
            return 200, reply.headers, b""  # accepted; only the message's name is lost

    def _headers_with(self, token: str) -> CIMultiDict[str]:
        if self._headers[0] != token:
            words = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            self._headers = (token, CIMultiDict(words))
        return self._headers[1]


def _in_words(error: Exception) -> str:
    """Its text, not its repr: that one shows the request's headers, and so our token."""
    return f"{type(error).__name__}: {error}"[:500]


def _accepted(message: Push, body: bytes, seconds: float) -> Outcome:
    try:
        name = str(orjson.loads(body)["name"])
    except (ValueError, KeyError, TypeError):
        name = ""
    return _outcome(message, verdicts.ACCEPTED, message_id=name, seconds=seconds)


def _outcome(
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
