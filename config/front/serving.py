"""The web server's processes: forked after the application's import, so they share its memory."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.errors import FatalError
from granian.http import HTTP1Settings
from granian.log import LOGGING_CONFIG

from notifications.requests.counted_lines import CountedLines

AS_JSON = Path(__file__).with_name("log.json")  # the server's own lines
CONNECTIONS = 4096  # per process, idle ones too. Later ones wait in the kernel


def serve(application: str, *, host: str, port: int, processes: int) -> None:
    """Serve until SIGTERM.

    An application that is only imported has no socket, no thread and no event loop yet.
    """
    import_module(application.partition(":")[0])
    # Garbage collection writes to every object, and what is written to is no longer shared.
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork", force=True)  # from Python 3.14 on not the default
    server = Granian(
        application,
        host,
        port,
        interface=Interfaces.ASGINL,
        websockets=False,
        workers=processes,
        # While it guesses the HTTP version, it waits for a silent connection for ever. HTTP/2 is
        # left to the proxy.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=10_000,
            # The longest head; it is held for each connection that is slow in sending it.
            max_buffer_size=32_768,
        ),
        backlog=CONNECTIONS,
        backpressure=CONNECTIONS,
        # Running requests finish; a slow caller does not hold up a deploy. Containers have 10 s.
        workers_kill_timeout=9,
        log_dictconfig=_log_config(),
    )
    try:
        server.serve()
    except FatalError as error:
        raise SystemExit(1) from error


def _log_config() -> dict[str, Any]:
    """Settings of the server's own lines. Clients that hang up cause those of `_granian.asgi`."""
    as_json = os.environ.get("LOG_FORMAT") == "json"
    config: dict[str, Any]
    config = json.loads(AS_JSON.read_text()) if as_json else deepcopy(LOGGING_CONFIG)
    formatter = config["handlers"]["console"]["formatter"]
    config["handlers"]["counted"] = {"()": CountedLines, "formatter": formatter}
    config["loggers"]["_granian.asgi"] = {"handlers": ["counted"], "propagate": False}
    return config
