"""redis-py without OpenTelemetry, which it would load wherever that is installed.

That is 35 ms and 3 MB of each process, for metrics of its own that nobody asks for.
"""

from __future__ import annotations

import sys

UNWANTED = "opentelemetry"

if not {"redis", UNWANTED} & sys.modules.keys():
    sys.modules[UNWANTED] = None  # type: ignore[assignment]  # an import of it fails: not installed
    try:
        import redis.observability  # noqa: F401
    finally:
        del sys.modules[UNWANTED]
