"""empty_redis: the four databases of this installation, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest
import redis
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from config.boot.redis_address import redis_databases
from tests.servers.workers import redis_apart


@pytest.fixture
def ours(settings: LazySettings) -> dict[str, str]:
    addresses = redis_databases(redis_apart())
    settings.REDIS_DATABASES = addresses
    return addresses


@pytest.fixture
def neighbour(settings: LazySettings) -> Iterator[str]:
    """A database of the same server that is none of the four, and of no other test process."""
    address: str = settings.RESULTS_URL
    yield address
    redis.Redis.from_url(address).delete("theirs")


def fill(addresses: dict[str, str]) -> None:
    for address in addresses.values():
        redis.Redis.from_url(address).set("left over", 1)


def empty(*arguments: str) -> str:
    out = StringIO()
    call_command("empty_redis", *arguments, stdout=out)
    return out.getvalue()


def test_the_four_are_emptied_each_is_said_and_a_neighbour_is_left(
    ours: dict[str, str], neighbour: str
) -> None:
    fill(ours)
    redis.Redis.from_url(neighbour).set("theirs", 1)

    said = empty("--yes").splitlines()

    assert [line.split()[0] for line in said] == ["broker", "results", "gate", "cache"]
    assert all(redis.Redis.from_url(address).dbsize() == 0 for address in ours.values())
    assert redis.Redis.from_url(neighbour).get("theirs") == b"1"


def test_nothing_is_emptied_unasked(ours: dict[str, str]) -> None:
    fill(ours)
    with pytest.raises(CommandError, match=r"Nothing was emptied. With --yes, these are: broker "):
        empty()
    assert all(redis.Redis.from_url(address).get("left over") for address in ours.values())


def test_no_password_is_shown(settings: LazySettings) -> None:
    settings.REDIS_DATABASES = {"broker": "redis://:hidden@127.0.0.1:1/0"}
    with pytest.raises(CommandError, match=r"^broker \(127.0.0.1:1/0\) was not emptied: "):
        empty("--yes")
