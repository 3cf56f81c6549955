"""Settings, URLs, permissions, Celery, the web servers, and `make run`."""

from __future__ import annotations

# First: it must run before anything else imports redis.
from config.boot import redis_alone as redis_alone
