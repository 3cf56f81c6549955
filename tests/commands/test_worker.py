"""worker: a further machine needs one command and four values, and says which is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.given.waiting import eventually
from tests.servers.workers import database_of_the_tests

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "CREDENTIALS_KEY")


def bare(names: Sequence[str]) -> dict[str, str]:
    """The environment of a machine that was told only these."""
    return {name: os.environ[name] for name in ("PATH", *names)}


def test_what_is_missing_is_named_all_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "worker"],
        cwd=ROOT,
        env=bare(["DATABASE_URL"]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("carillon: Not set: REDIS_URL, SECRET_KEY, CREDENTIALS_KEY. ")
    assert "Traceback" not in done.stderr


def started(tmp_path: Path, *arguments: str, **environment: str) -> str:
    """The log of a worker that became ready and was told to go."""
    log = tmp_path / "log"
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "worker", *arguments],
        cwd=ROOT,
        env={**bare(NEEDED), "DATABASE_URL": database_of_the_tests(), **environment},
        stdout=log.open("ab"),
        stderr=subprocess.STDOUT,
    )
    try:
        eventually("the worker is ready", lambda: " ready." in log.read_text(), seconds=60)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    finally:
        worker.kill()
    return log.read_text()


@pytest.mark.django_db(transaction=True)
def test_four_values_are_enough(tmp_path: Path) -> None:
    log = started(tmp_path, "--processes", "1")
    assert "bulk@" in log
    assert log.count("INFO config.celery Messages go to FCM over wire.\n") == 1


@pytest.mark.django_db(transaction=True)
def test_behind_a_proxy_it_says_once_which_way_messages_take_and_no_password(
    tmp_path: Path,
) -> None:
    proxy = "http://carol:open-sesame@proxy.example:3128"
    log = started(tmp_path, "urgent", "--processes", "2", HTTPS_PROXY=proxy)
    said = "Messages go to FCM over aiohttp, through the proxy proxy.example:3128."
    assert log.count(said) == 1
    assert "sesame" not in log


@pytest.mark.parametrize(
    "arguments", [["nowhere"], ["--processes", "0"], ["--processes", "-1"], ["--processes", "two"]]
)
def test_what_makes_no_worker_is_refused(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("worker", *arguments)
