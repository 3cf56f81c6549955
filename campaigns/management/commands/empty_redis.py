"""`manage.py empty_redis`: empties Redis after a restore: its tasks belong to the lost database."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Empty the four Redis databases of this installation only. Stop everything else first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--yes", action="store_true", help="do it; without it, only say what would be emptied"
        )

    def handle(self, *, yes: bool, **_: Any) -> None:
        if not yes:
            named = ", ".join(_shown(name) for name in settings.REDIS_DATABASES)
            raise CommandError(f"Nothing was emptied. With --yes, these are: {named}.")
        for name in settings.REDIS_DATABASES:
            self.stdout.write(f"{_shown(name)}: {_emptied(name):,} keys are gone.")


def _emptied(name: str) -> int:
    """Empty this Redis database. Returns how many keys there were."""
    address = settings.REDIS_DATABASES[name]
    try:
        with redis.Redis.from_url(address, socket_connect_timeout=5) as client:
            keys = int(client.dbsize())
            client.flushdb()
    except redis.RedisError as error:
        raise CommandError(f"{_shown(name)} was not emptied: {error}") from error
    return keys


def _shown(name: str) -> str:
    """The database's name and address, without the password."""
    parts = urlsplit(settings.REDIS_DATABASES[name])
    return f"{name} ({parts.netloc.rpartition('@')[2]}{parts.path})"
