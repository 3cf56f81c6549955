"""The command that starts the feed, in one place for `make run`, the image and the tests."""

from __future__ import annotations

import sys


def command(*, host: str = "127.0.0.1", port: str = "8001") -> tuple[str, ...]:
    return (sys.executable, "-m", "config.feed", "--host", host, "--port", port)
