"""The WSGI application behind METRICS_PORT: the probes alone, and the numbers without a token.

For a port that only one's own network reaches. The numbers are those of the whole installation, so
one such process is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from config.wsgi import application as product
from notifications.requests.origin import INSIDE


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    return product({**environ, INSIDE: True}, start_response)
