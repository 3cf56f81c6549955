"""The cache in Redis: it stores values as JSON.

Django's own cache would unpickle what it finds, and so run code that an attacker put into Redis.
"""

from __future__ import annotations

import json
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis


class AsJson:
    def dumps(self, value: Any) -> Any:
        """Keep whole numbers as they are: Redis itself adds to them."""
        return value if type(value) is int else json.dumps(value)

    def loads(self, kept: bytes) -> Any:
        """Return None for a value that this cache did not write."""
        try:
            return json.loads(kept)
        except (ValueError, RecursionError):
            return None


class Client(RedisCacheClient):
    """Keeps one redis-py client.

    Django makes a new one for each call, which costs as much as the call itself.
    """

    kept: Redis | None = None

    def get_client(self, key: Any = None, *, write: bool = False) -> Redis:
        if self.kept is None:
            self.kept = super().get_client(key, write=write)
        return self.kept


class InRedis(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = Client


def in_redis(address: str) -> dict[str, Any]:
    return {
        "BACKEND": "config.cache.InRedis",
        "LOCATION": address,
        "OPTIONS": {
            "serializer": "config.cache.AsJson",
            # A page must not wait long for a cache that only makes it quicker.
            "socket_connect_timeout": 1,
            "socket_timeout": 1,
        },
    }
