"""Wiring and the way in: settings, addresses, doors, rate limits, Celery and `make run`.

Programs start here, and the benchmark enters; the product itself never.
"""

from __future__ import annotations

# First, while nobody else has loaded it.
from config.boot import redis_alone as redis_alone

# Tasks find their application through this import, in the web process as in the workers.
from config.celery import app as celery_app

__all__ = ["celery_app"]
