"""Test processes side by side: each has four Redis databases of its own, as it has PostgreSQL's.

Loaded by `-p`, ahead of Django's settings.
"""

from __future__ import annotations

import os

if lane := os.environ.get("PYTEST_XDIST_WORKER"):
    server, _, first = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{server}/{int(first) + 4 * int(lane.removeprefix('gw'))}"
