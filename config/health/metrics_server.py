"""The WSGI application behind METRICS_PORT: only the probes, and metrics without a token.

It is for a port that only your own network reaches. The numbers are those of the whole
installation, so one process is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from config.wsgi import application as product
from notifications.requests.origin import INSIDE


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    return product({**environ, INSIDE: True}, start_response)
