"""Real Celery processes beside the tests: started, killed and started again like in production."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from django.conf import settings
from django.db import connection

from config.celery import app
from tests.fcm import Fcm
from tests.forgetting import flush
from tests.waiting import eventually


class Workers:
    """The workers `bulk` and `control`, and beat when a test wants its tick."""

    def __init__(self, fcm: Fcm) -> None:
        self.fcm = fcm
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.logs = Path(tempfile.mkdtemp(prefix="carillon-workers-"))
        flush(settings.BROKER_URL)

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "celery", "-A", "config"]
        if name == "beat":
            command += ["beat", "--pidfile=", "-s", str(self.logs / "schedule")]
        else:
            command += [
                "worker",
                "-n",
                f"{name}@%h",
                "-Q",
                name,
                "-c",
                "2" if name == "bulk" else "1",
            ]
            command += ["--without-gossip", "--without-mingle"]
        log = (self.logs / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            [*command, "-l", "INFO"],
            env={**os.environ, **self.fcm.environment, "DATABASE_URL": database()},
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that a kill takes the pool's children too
        )

    def wait_until_ready(self, *names: str) -> None:
        wanted = set(names or ("bulk", "control"))
        eventually(f"{sorted(wanted)} answer", lambda: wanted <= _answering(), seconds=60)

    def kill(self, name: str) -> None:
        """As a power cut would: the main process and its children at once, without a word."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes.pop(name).wait(10)

    def stop(self, *names: str) -> None:
        for name in names or tuple(self.processes):
            process = self.processes.pop(name)
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _answering() -> set[str]:
    pongs = app.control.ping(timeout=0.5) or []
    return {host.partition("@")[0] for pong in pongs for host in pong}


def database() -> str:
    """The tests' own, for a process that is to see their rows."""
    server = os.environ["DATABASE_URL"].rpartition("/")[0]
    return f"{server}/{connection.settings_dict['NAME']}"
