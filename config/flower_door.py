"""Access to Flower: its metrics need the password too, and wrong passwords are counted."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import tornado.web
from flower import urls
from flower.views import BaseHandler
from flower.views.monitor import Metrics

MAX_WRONG, SECONDS = 10, 60.0  # per address; then it refuses all until the time ends
REMEMBERED = 1_000  # addresses

_look_at = BaseHandler.get_current_user
_wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()  # by address: how many, until when


class GuardedMetrics(Metrics):  # type: ignore[misc]
    @tornado.web.authenticated
    async def get(self) -> None:
        await super().get()


def get_current_user(handler: Any) -> Any:
    address, now = handler.request.remote_ip, time.monotonic()
    wrong, ends_at = _wrong.get(address, (0, 0.0))
    if now >= ends_at:
        wrong, ends_at = 0, now + SECONDS
    if wrong >= MAX_WRONG:
        handler.set_header("Retry-After", str(int(ends_at - now) + 1))
        raise tornado.web.HTTPError(429, "Too many wrong passwords. Try again in a minute.")
    try:
        return _look_at(handler)
    except (tornado.web.HTTPError, TypeError) as error:  # it compares ASCII only
        if "Authorization" in handler.request.headers:
            _count_wrong(address, wrong + 1, ends_at)
        raise tornado.web.HTTPError(401) from error


def _count_wrong(address: str, wrong: int, ends_at: float) -> None:
    _wrong[address] = wrong, ends_at
    _wrong.move_to_end(address)
    if len(_wrong) > REMEMBERED:
        _wrong.popitem(last=False)


def install() -> None:
    """Patch Flower's classes. Call it before Flower builds its application from them."""
    BaseHandler.get_current_user = get_current_user
    urls.handlers.insert(0, (r"/metrics", GuardedMetrics))  # the first match answers
