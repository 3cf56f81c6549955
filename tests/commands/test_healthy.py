"""A probe asks a process whether it is at work, and hears yes or no with a reason."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from tests.given.forgetting import flush
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers, redis_apart


@pytest.fixture
def apart(emulator: Fcm, db: None) -> Iterator[Workers]:
    workers = Workers(emulator, {"REDIS_URL": redis_apart()})
    flush(workers.broker)
    yield workers
    workers.stop()


def healthy(workers: Workers, *arguments: str) -> tuple[int, str]:
    """As a probe does it: exit code, and what was said."""
    return workers.manage("healthy", *arguments)


def test_a_worker_is_healthy_until_it_is_frozen_or_killed(apart: Workers) -> None:
    apart.start("control")
    apart.wait_until_ready("control")
    code, said = healthy(apart, "worker", "--node", "control")
    assert code == 0 and "answers" in said

    os.killpg(apart.processes["control"].pid, signal.SIGSTOP)
    assert healthy(apart, "worker", "--node", "control")[0] == 1
    os.killpg(apart.processes["control"].pid, signal.SIGCONT)
    assert healthy(apart, "worker", "--node", "control")[0] == 0

    apart.kill("control")
    code, said = healthy(apart, "worker", "--node", "control")
    assert (code, "control@" in said, "did not answer within 5 s" in said) == (1, True, True)


def test_a_worker_is_not_blamed_for_a_redis_that_is_away(
    settings: LazySettings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    call_command("healthy", "worker", "--node", "bulk@there")
    assert "bulk@there cannot be asked, for Redis is in trouble" in capsys.readouterr().out


@pytest.fixture
def full_redis() -> Iterator[str]:
    """An address at which Redis answers and takes nothing, as when its memory is used up."""
    server, url = redis.Redis.from_url(redis_apart()), urlsplit(redis_apart())
    server.acl_setuser("full", enabled=True, passwords=["+full"], commands=["+ping", "+select"])
    yield url._replace(netloc=f"full:full@{url.hostname}:{url.port}").geturl()
    server.acl_deluser("full")


def test_a_worker_is_not_blamed_for_a_redis_that_takes_nothing(
    emulator: Fcm, db: None, full_redis: str
) -> None:
    code, said = healthy(Workers(emulator, {"REDIS_URL": full_redis}), "worker")
    assert (code, "for Redis is in trouble: " in said) == (0, True), said


def test_a_beat_is_healthy_as_long_as_it_ticks(apart: Workers) -> None:
    schedule = apart.logs / "schedule"
    code, said = healthy(apart, "beat", "--schedule", str(schedule))
    assert code == 1 and "Beat has not ticked yet" in said

    apart.start("beat")
    eventually("it ticks", lambda: healthy(apart, "beat", "--schedule", str(schedule))[0] == 0)
    first = written(schedule)
    eventually("and again", lambda: written(schedule) > first)

    apart.stop("beat")
    long_ago = time.time() - 90
    for file in schedule.parent.glob("schedule*"):
        os.utime(file, (long_ago, long_ago))
    with pytest.raises(CommandError, match=r"Beat has been silent for 9\d s"):
        call_command("healthy", "beat", "--schedule", str(schedule))


def written(schedule: Path) -> float:
    return max(file.stat().st_mtime for file in schedule.parent.glob(f"{schedule.name}*"))
