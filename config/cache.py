"""The cache in Redis: what it keeps is JSON.

Django's own would unpickle whatever stands there, and so run what somebody else put into Redis.
"""

from __future__ import annotations

import json
from typing import Any


class AsJson:
    def dumps(self, value: Any) -> Any:
        """Whole numbers as they are: Redis itself adds to them."""
        return value if type(value) is int else json.dumps(value)

    def loads(self, kept: bytes) -> Any:
        """None for what is none of ours."""
        try:
            return json.loads(kept)
        except (ValueError, RecursionError):
            return None


def in_redis(address: str) -> dict[str, Any]:
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": address,
        # For the release before, which pickles and runs beside this one: each reads its own.
        "KEY_PREFIX": "json",
        "OPTIONS": {
            "serializer": "config.cache.AsJson",
            # A page must not wait for what only makes it quicker.
            "socket_connect_timeout": 1,
            "socket_timeout": 1,
        },
    }
