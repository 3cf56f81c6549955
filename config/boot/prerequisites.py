"""Requirements of PostgreSQL and Redis, with an error text for each that is not met.

Imports no Django, because the launcher uses it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import redis

MIN_POSTGRESQL = 16
NO_SUCH_DATABASE = ("DB index", "SELECT is not allowed")  # the second one from a cluster


def old_postgresql(version: int) -> str:
    """The error text for a server's version, such as 150004; empty if it is recent enough."""
    if version >= MIN_POSTGRESQL * 10_000:
        return ""
    return (
        f"PostgreSQL {version // 10_000} is too old: launches and audiences would fail. "
        f"Use PostgreSQL {MIN_POSTGRESQL} or later."
    )


def missing_databases(addresses: Mapping[str, str]) -> str:
    """The error text for missing Redis databases, each with its use; empty if none is missing.

    Raises RedisError when Redis does not answer.
    """
    refusals = {name: _refusal(address) for name, address in addresses.items()}
    missing = [
        f"{urlsplit(addresses[name]).path.strip('/')} ({name}: {refusal})"
        for name, refusal in refusals.items()
        if refusal
    ]
    if not missing:
        return ""
    return (
        f"Redis does not have database {', '.join(missing)}: runs would stall. Four in a row are "
        "needed, from the one that REDIS_URL ends in: name a lower one, or raise `databases` in "
        "the server's configuration."
    )


def _refusal(address: str) -> str:
    with redis.Redis.from_url(address, socket_timeout=2, socket_connect_timeout=2) as client:
        try:
            client.ping()
        except redis.ResponseError as error:
            if not any(word in str(error) for word in NO_SUCH_DATABASE):
                raise
            return str(error)
    return ""
