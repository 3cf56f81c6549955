"""Flower shows tasks to people: it gets the broker and its own password, and holds nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack import processes
from config.stack.secret_values import secret_values
from tests.config.manage_check import ROOT
from tests.given.waiting import eventually
from tests.servers.ports import free_ports

FLOWER = [sys.executable, "-m", "celery", "-A", "config.flower", "flower", "--address=127.0.0.1"]
PASSWORD = "flower:sesame"


class Running:
    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        self.broker, self.password = folder / "redis_url", folder / "flower_basic_auth"
        self.broker.write_text(f"{os.environ['REDIS_URL']}\n")
        self.password.write_text(f"{PASSWORD}\n")
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*FLOWER, f"--port={self.port}", "--read_only=True"],
                cwd=ROOT,
                env={
                    "PATH": os.environ["PATH"],
                    "REDIS_URL_FILE": str(self.broker),
                    "FLOWER_BASIC_AUTH_FILE": str(self.password),
                },
                stdout=log,
                stderr=log,
            )

    def page(self, path: str, password: str = "") -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if password:
            shown = b64encode(password.encode()).decode()
            request.add_header("Authorization", f"Basic {shown}")
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""


@pytest.fixture
def flower(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path)
    yield running
    running.process.kill()
    running.process.wait()


def test_it_starts_with_the_brokers_address_and_its_password_alone(flower: Running) -> None:
    eventually("Flower answers", lambda: flower.page("/healthcheck")[0] == 200, seconds=60)
    assert flower.page("/workers")[0] == 401
    assert flower.page("/workers", "flower:guess")[0] == 401
    status, html = flower.page("/workers", PASSWORD)
    assert (status, "Flower" in html) == (200, True)
    assert flower.page("/broker", PASSWORD)[0] == 200
    held = Path(f"/proc/{flower.process.pid}/environ").read_bytes()
    argv = Path(f"/proc/{flower.process.pid}/cmdline").read_bytes()
    assert b"sesame" not in held + argv
    assert os.environ["REDIS_URL"].encode() not in held + argv
    log = flower.log.read_text()
    assert os.environ["REDIS_URL"] not in log and "sesame" not in log
    assert (flower.page("/metrics")[0], flower.page("/metrics", PASSWORD)[0]) == (401, 200)
    _assert_it_locks(flower)


def _assert_it_locks(flower: Running) -> None:
    """Whose guesses were too many is not told which one is right."""
    answers = [flower.page("/workers", "flower:guess")[0] for _ in range(11)]
    assert answers.count(401) <= 9 and answers[-1] == 429
    assert {flower.page(path, PASSWORD)[0] for path in ("/workers", "/metrics")} == {429}
    assert flower.page("/healthcheck")[0] == 200


@pytest.mark.parametrize("missing", ["REDIS_URL", "FLOWER_BASIC_AUTH"])
def test_without_one_of_the_two_it_does_not_start(missing: str) -> None:
    given = {"REDIS_URL": "redis://127.0.0.1:1/0", "FLOWER_BASIC_AUTH": PASSWORD}
    del given[missing]
    done = subprocess.run(
        [*FLOWER, f"--port={free_ports(1)[0]}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **given},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert f"Not set: {missing}" in done.stdout + done.stderr


def test_make_run_gives_it_no_key_and_no_database(tmp_path: Path) -> None:
    secrets = secret_values(tmp_path / "secrets", {})
    names = ("REDIS_URL", "DATABASE_URL", "WORKERS", "PORT", "FEED_PORT", "FLOWER_PORT")
    env = {**secrets, **dict.fromkeys(names, "1")}
    given = processes.flower(env).env
    assert not {"SECRET_KEY", "CREDENTIALS_KEY", "DATABASE_URL", "ADMIN_PASSWORD"} & set(given)
    assert given["FLOWER_BASIC_AUTH"] == f"flower:{secrets['FLOWER_PASSWORD']}"
