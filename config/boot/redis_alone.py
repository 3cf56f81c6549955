"""Imports redis-py without OpenTelemetry, which redis-py would load wherever it is installed.

That would cost each process 35 ms and 3 MB, for metrics that nobody reads.
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
