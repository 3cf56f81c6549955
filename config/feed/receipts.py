"""Receipts of phones: read here, and stored together.

Phones call by the thousand, each for itself. After a campaign, for some seconds as many calls
arrive as messages have left. So no call has a thread or a commit of its own, and none goes through
Django.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from itertools import chain
from typing import Any

from aiohttp import web
from django.db import close_old_connections
from django.http import HttpResponse
from rest_framework.exceptions import APIException

from campaigns.engagement.receipt import Report
from campaigns.engagement.receipt_reading import MOST_BYTES as MOST_BYTES
from campaigns.engagement.receipt_reading import Call, parse_call
from campaigns.engagement.store_receipts import keep
from config.front.dispatch.batching import Batcher
from config.front.dispatch.threads import Threads
from config.front.refusals import Away, Busy, LargeBody, Refused, SlowBody
from notifications.api.base import problems
from notifications.api.base.rendering import as_json, refuse_packed
from notifications.postgres.outage import DATABASE_TROUBLE, retry_during_outage

PLACE = "/api/v1/receipts"
WAITING = 5_000  # calls
READING = 500  # calls that wait for the thread that reads large ones
SMALL_BYTES = 2_000  # parsed at once: a thread would cost as much
WITHIN = 5.0  # seconds: while one waits for longer, no other is let in
BODY_SECONDS = 10.0
# Any page may call: the id that it shows says what it may report, and no cookie is read.
ANYBODY = {"Access-Control-Allow-Origin": "*"}
PREFLIGHT = {
    **ANYBODY,
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "content-type",
    "Access-Control-Max-Age": "7200",
}

log = logging.getLogger(__name__)


class Receipts:
    def __init__(self) -> None:
        self.turns: Batcher[list[Report], None] = Batcher(
            _keep, waiting=WAITING, within=WITHIN, refusal=Busy
        )
        self.reader = Threads("reader", 1, waiting=READING)

    async def answered(self, request: web.BaseRequest) -> web.Response:
        """Answer one call. Raises Refused."""
        if request.method == "OPTIONS":
            return web.Response(status=HTTPStatus.NO_CONTENT, headers=PREFLIGHT)
        if request.method != "POST":
            return _not_allowed()
        try:
            body = await _body(request)  # first: a caller that still sends would not read an error
            refuse_packed(request.headers.get("Content-Encoding"))
            call = await self._read(body)
        except APIException as error:
            return _as_response(problems.outside(error))
        if call.reports:
            await self.turns.ask(call.reports)
        return _render_answer(call)

    async def _read(self, body: bytes) -> Call:
        """Parse the body; a large one in a thread, so that links and streams do not wait."""
        if len(body) <= SMALL_BYTES:
            return parse_call(body)
        return await self.reader.admit(lambda: parse_call(body))


async def _body(request: web.BaseRequest) -> bytes:
    """Read the body, whatever its type: a page that is being left can only send plain text."""
    if (request.content_length or 0) > MOST_BYTES:
        raise LargeBody(MOST_BYTES)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.content.iter_any():
                body += part
                if len(body) > MOST_BYTES:
                    raise LargeBody(MOST_BYTES)
    except TimeoutError:
        raise SlowBody(BODY_SECONDS) from None
    return bytes(body)


def _keep(calls: list[list[Report]]) -> list[Refused | None]:
    """Store all reports of a turn, or none.

    A phone that gets no answer calls again, and still counts once.
    """
    close_old_connections()
    try:
        retry_during_outage(lambda: keep(chain.from_iterable(calls)), seconds=0)
    except DATABASE_TROUBLE as error:
        log.warning("receipts met a busy or restarting database: %s", error)
        return [Away() for _ in calls]
    finally:
        close_old_connections()
    return [None for _ in calls]


def _render_answer(call: Call) -> web.Response:
    return web.Response(
        body=as_json(call.answer()), content_type="application/json", headers=ANYBODY
    )


def _not_allowed() -> web.Response:
    text = "Receipts are sent by POST."
    problem: Any = problems.Problem(HTTPStatus.METHOD_NOT_ALLOWED, text)
    response = _as_response(problems.outside(problem))
    response.headers["Allow"] = "POST, OPTIONS"
    return response


def _as_response(django_response: HttpResponse) -> web.Response:
    response = web.Response(status=django_response.status_code, body=django_response.content)
    response.headers.update({**dict(django_response.items()), **ANYBODY})
    return response
