"""What F64 and F65 must notice. Planted in the web alone: workers have no front."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from typing import Any

from tests.chaos.bug import bug, patch

WEB = "config.asgi"


@bug("takes a thread before the body", fault="F64")
def _a_thread_first() -> None:
    """As a server does that speaks WSGI."""
    if WEB not in sys.modules:
        return
    from config import asgi
    from config.front import bodies

    whole = bodies.whole

    async def with_a_thread(*asked: Any) -> bytes:
        over = threading.Event()
        asgi.application.pages.executor.submit(over.wait)
        try:
            return await whole(*asked)
        finally:
            over.set()

    patch(bodies, "whole", with_a_thread)


@bug("waits for a body for ever", fault="F64")
def _for_ever() -> None:
    _with(body_seconds=3_600.0)


@bug("takes any size", fault="F65")
def _any_size() -> None:
    _with(body_bytes=1 << 30, pages_bytes=1 << 30, strangers_bytes=1 << 30)


def _with(**values: Any) -> None:
    if WEB not in sys.modules:
        return
    from config import asgi

    patch(asgi.application, "limits", replace(asgi.application.limits, **values))
