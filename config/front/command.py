"""The command that starts the web server, in one place for `make run`, the image and the tests."""

from __future__ import annotations

import sys

OUTSIDE, INSIDE = "config.asgi:application", "config.asgi:inside"


def command(
    *,
    application: str = OUTSIDE,
    host: str = "127.0.0.1",
    port: str = "8000",
    processes: int = 2,
) -> tuple[str, ...]:
    where = ("--host", host, "--port", port, "--processes", str(processes))
    return (sys.executable, "-m", "config.front", application, *where)
