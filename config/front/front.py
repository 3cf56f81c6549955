"""The ASGI application in front of a WSGI one."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse

from config.front import bodies, refusals
from config.front.dispatch.batched_route import FastPath, WholeAnswer
from config.front.dispatch.batching import Batcher
from config.front.dispatch.shared import Shared
from config.front.dispatch.threads import Threads
from config.front.environ import environ_of, is_text, long_header, with_body
from config.front.memory import Memory, Share
from config.front.refusals import Failed, Flooded, LongHeader, NoText, Refused, TwoKeys
from config.front.sockets import Scissors, give_up_readers_after
from config.front.worker_limits import Limits
from config.front.wsgi_response import PART, Answer, WsgiApp
from notifications.requests.request_id import name_of

log = logging.getLogger(__name__)
# Each has a thread of its own: /readyz may wait for a server that is away, /healthz must not.
PROBES = ("/healthz", "/readyz", "/metrics")
# Programs that send on every event do not slow down by themselves: a refusal tells them to.
SENDING = ("/api/v1/messages", "/api/v1/messages/bulk")
BODY = "http.response.body"
# Bytes that the server below buffers of a long answer, for a caller who reads none of it.
BELOW = 512 * 1024


class Front:
    def __init__(
        self, product: WsgiApp, limits: Limits | None = None, *, short: FastPath | None = None
    ) -> None:
        """`short`: a fast path, for the requests that it takes."""
        self.product, self.limits = product, limits or Limits()
        self.memory = Memory(self.limits.memory, self.limits.places)
        self.scissors = Scissors()
        self.pages = Threads("page", self.limits.threads, waiting=self.limits.waiting)
        self.short = short
        self.turns = self._make_batcher(short) if short else None
        self.probes = {path: Threads(path, 1) for path in PROBES}
        self.shared = {"/readyz": Shared[tuple[Answer, bytes]](_is_well)}
        self.has_served = False

    def _make_batcher(self, short: FastPath) -> Batcher[dict[str, Any], WholeAnswer | None]:
        waiting, within = self.limits.waiting, self.limits.sender_seconds
        return Batcher(short.answer, waiting=waiting, within=within, refusal=Flooded)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if not self.has_served:  # before the first request there was no socket
            self.has_served = True
            give_up_readers_after(self.limits.reader_seconds)
        environ = environ_of(scope)
        threads = self.probes.get(environ["PATH_INFO"], self.pages)
        try:
            answer, first = await self._ask(environ, receive, threads)
        except Refused as refused:
            await _send_refusal(refusals.answer(refused, environ), send)
        else:
            await OnItsWay(self, answer, threads, scope["client"], receive, send).read_answer(first)

    async def _ask(
        self, environ: dict[str, Any], receive: Any, threads: Threads
    ) -> tuple[Answer, bytes]:
        if name := long_header(environ):
            raise LongHeader(name)
        if not is_text(environ.get("CONTENT_TYPE", "")):
            raise NoText
        if environ["carillon.keys"] > 1:
            raise TwoKeys
        share = Share(self.memory)
        try:
            body = await bodies.whole(environ, receive, self.limits, share)
            shared = self.shared.get(environ["PATH_INFO"])
            begin = partial(self._begin, with_body(environ, body), threads)
            if shared is None:
                return await begin()
            answer, first = await shared.answer(environ["REQUEST_METHOD"], begin)
            return answer.named(name_of(environ)), first
        except Refused:
            raise
        except Exception as error:
            log.exception("a request failed")
            raise Failed from error
        finally:
            share.release()

    async def _begin(self, environ: dict[str, Any], threads: Threads) -> tuple[Answer, bytes]:
        answer = Answer(self.product, environ)
        if reply := await self._by_the_short_way(environ):
            answer.status, answer.headers, answer.ended = reply.status, reply.headers, True
            return answer, reply.body
        if environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"] in SENDING:
            within = self.limits.sender_seconds
            return answer, await threads.admit_sender(answer.begin, within=within)
        return answer, await threads.admit(answer.begin)

    async def _by_the_short_way(self, environ: dict[str, Any]) -> WholeAnswer | None:
        if self.short and self.turns and self.short.takes(environ):
            return await self.turns.ask(environ)
        return None


def _is_well(answered: tuple[Answer, bytes]) -> bool:
    return answered[0].status == HTTPStatus.OK


class OnItsWay:
    """Sends one answer. `client`: the connection to cut if the answer breaks off."""

    def __init__(
        self,
        front: Front,
        answer: Answer,
        threads: Threads,
        client: tuple[str, str],
        receive: Any,
        send: Any,
    ) -> None:
        self.front, self.answer, self.threads = front, answer, threads
        self.client, self.receive, self.send = client, receive, send

    async def read_answer(self, first: bytes) -> None:
        try:
            await self._whole(first)
        except (TimeoutError, MemoryError):
            self.front.scissors.cut(self.client)
        except Exception:
            log.exception("an answer broke off")
            self.front.scissors.cut(self.client)
        finally:
            if not self.answer.ended:
                await self.threads.run(self.answer.end)

    async def _whole(self, first: bytes) -> None:
        await self.send(
            {
                "type": "http.response.start",
                "status": self.answer.status,
                "headers": self.answer.headers,
            }
        )
        if self.answer.ended and len(first) <= PART:
            await self.send({"type": BODY, "body": first})
        else:
            await self._in_parts(first)

    async def _in_parts(self, first: bytes) -> None:
        share, leaving = Share(self.front.memory), asyncio.ensure_future(self._left())
        try:
            await self._parts(first, share, leaving)
        finally:
            leaving.cancel()
            share.release()

    async def _parts(self, part: bytes, share: Share, leaving: asyncio.Future[None]) -> None:
        share.take(BELOW)
        while True:
            share.take(len(part))
            for start in range(0, len(part), PART):
                if leaving.done():
                    return
                await self._part(part[start : start + PART], share)
            share.give_back(len(part))
            if self.answer.ended:
                break
            part = await self.threads.run(self.answer.go_on)
        await self.send({"type": BODY, "body": b""})

    async def _part(self, part: bytes, share: Share) -> None:
        async with share.waiting(self.front.limits.reader_seconds):
            await self.send({"type": BODY, "body": part, "more_body": True})

    async def _left(self) -> None:
        """Wait until the caller has disconnected: sending alone would not show it."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def _send_refusal(response: HttpResponse, send: Any) -> None:
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.items()
    ]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": BODY, "body": response.content})
