"""Wiring and the way in: settings, addresses, doors, rate limits, Celery and `make run`.

Programs start here, and the benchmark enters; the product itself never.
"""

from __future__ import annotations

# First, while nobody else has loaded it.
from config.boot import redis_alone as redis_alone
