"""How the feed is started, told once: `make run`, the image and the tests ask here."""

from __future__ import annotations

import sys


def command(*, host: str = "127.0.0.1", port: str = "8001") -> tuple[str, ...]:
    return (sys.executable, "-m", "config.feed", "--host", host, "--port", port)
