"""How the web server is started, told once: `make run`, the image and the tests ask here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

OUTSIDE, INSIDE = "config.asgi:application", "config.asgi:inside"
AS_JSON = Path(__file__).with_name("log.json")  # the server's own lines


def command(
    *,
    application: str = OUTSIDE,
    host: str = "127.0.0.1",
    port: str = "8000",
    processes: int = 2,
    environ: Mapping[str, str] = os.environ,
) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "granian", application, "--interface", "asginl", "--no-ws"),
        *("--host", host, "--port", port, "--workers", str(processes)),
        # While it guesses the version, a connection that says nothing is waited for without end.
        # HTTP/2 is the proxy's.
        *("--http", "1", "--http1-header-read-timeout", "10000"),
        # The longest head; it is held for each connection that is slow in sending it.
        *("--http1-buffer-size", "32768"),
        # Connections, idle ones too, of each process. Who comes later waits in the kernel.
        *("--backlog", "4096", "--backpressure", "4096"),
        # What runs is finished; whoever is slow does not hold up a deploy. Containers have 10 s.
        *("--workers-kill-timeout", "9"),
        *(("--log-config", str(AS_JSON)) if environ.get("LOG_FORMAT") == "json" else ()),
    )
