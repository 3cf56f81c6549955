"""Counted links: redirect to the page of a message's link, and count the open once.

The page comes first: it waits half a second at most for the count, and PostgreSQL may be down. Only
people count: not HEAD, not a browser that fetches ahead, not a program that draws a preview.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus

from aiohttp import web

from campaigns.engagement.receipt import Event, Report
from config.front.dispatch.batching import Batcher
from config.front.refusals import Refused
from notifications.keys import counted_link
from notifications.keys.counted_link import PLACE, Link

__all__ = ["PLACE", "Links"]

PATIENCE = 0.5  # seconds
METHODS = ("GET", "HEAD")
AHEAD = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")  # what browsers call it, new and old
LOOKS_AHEAD = re.compile(r"prefetch|prerender|preview", re.IGNORECASE)
# What chats, mail scanners and search engines call themselves. Cubot makes phones.
DRAWS_PREVIEWS = re.compile(
    r"(?<!cu)bot\b|crawl|spider|preview|facebookexternalhit|whatsapp|skype|kakaotalk-scrap|yeti",
    re.IGNORECASE,
)
PLAIN = {
    "Cache-Control": "no-store",  # or the second person at one proxy would not be counted
    "Referrer-Policy": "no-referrer",  # the page need not know of which message
    "X-Robots-Tag": "noindex",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'",
}
UNKNOWN = "This link is not known here. Open it from the message again: a part may be missing.\n"
ONLY = "Links are opened by GET.\n"


class Links:
    def __init__(self, turns: Batcher[list[Report], None]) -> None:
        self.turns = turns  # the receipts'
        self.counting: set[asyncio.Task[None]] = set()

    async def answered(self, request: web.BaseRequest) -> web.Response:
        if request.method not in METHODS:
            allow = {**PLAIN, "Allow": ", ".join(METHODS)}
            return web.Response(status=HTTPStatus.METHOD_NOT_ALLOWED, text=ONLY, headers=allow)
        link = counted_link.parse(request.raw_path.partition("?")[0].removeprefix(PLACE))
        if link is None:
            return web.Response(status=HTTPStatus.NOT_FOUND, text=UNKNOWN, headers=PLAIN)
        if request.method == "GET" and opens(request.headers):
            await self._count(link)
        location = {**PLAIN, "Location": counted_link.as_header(link.target)}
        return web.Response(status=HTTPStatus.FOUND, headers=location)

    async def _count(self, link: Link) -> None:
        """Count the open, even if the caller leaves meanwhile."""
        report = Report.parse(link.reference, Event.OPENED, None)
        if report is None:
            return
        counting = asyncio.create_task(self._kept(report))
        self.counting.add(counting)
        counting.add_done_callback(self.counting.discard)
        await asyncio.wait([counting], timeout=PATIENCE)

    async def _kept(self, report: Report) -> None:
        with suppress(Refused):  # too many, or no database, which has been logged
            await self.turns.ask([report])


def opens(headers: Mapping[str, str]) -> bool:
    """Whether a person opens the link, as far as the headers show."""
    if any(LOOKS_AHEAD.search(headers.get(name, "")) for name in AHEAD):
        return False
    return not DRAWS_PREVIEWS.search(headers.get("User-Agent", ""))
