"""Settings, URLs, permissions, Celery, the web servers, and `make run`."""

from __future__ import annotations

# First, while nobody else has loaded it.
from config.boot import redis_alone as redis_alone
