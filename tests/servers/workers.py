"""Real Celery processes beside the tests: started, killed and started again like in production."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from socket import gethostname

from celery import Celery
from django.conf import settings
from django.db import connection

from config.boot.redis_address import redis_address
from config.front import command
from config.stack.answers import http
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.forked import CHECKOUT as CHECKOUT
from tests.servers.forked import Forked, fork, fork_bare
from tests.servers.ports import free_ports

APART = 4  # Redis databases on from a lane's own: what runs there meets nobody else's doorbells
UNHEARD = 8  # the one where nobody listens
BEFORE_THE_FRONT = ("granian", "--interface", "wsgi", "config.wsgi:application")


class Workers:
    """The workers `bulk` and `control`, and beat or the web when a test wants them.

    `different`: what these have in their environment that others have not.
    `checkout`: where their code lies.
    """

    def __init__(
        self, fcm: Fcm, different: Mapping[str, str] | None = None, *, checkout: Path = CHECKOUT
    ) -> None:
        self.environment = {
            **os.environ,
            **fcm.environment,
            "DATABASE_URL": database_of_the_tests(),
            **(different or {}),
        }
        self.checkout = checkout
        self.processes: dict[str, Forked] = {}
        self.logs = Path(tempfile.mkdtemp(prefix="carillon-workers-"))
        self.broker = redis_address(
            self.environment["REDIS_URL"], ca_file=self.environment.get("REDIS_CA_FILE", "")
        )

    def start(self, name: str) -> None:
        self._spawn(name, *_arguments(name, self.logs))

    def start_web(self, application: str = command.OUTSIDE) -> str:
        """The pages and the API on a port of their own; the address."""
        (port,) = free_ports(1)
        url = f"http://127.0.0.1:{port}"
        ours = command.command(application=application, port=str(port), processes=1)[2:]
        before = (*BEFORE_THE_FRONT, "--port", str(port))
        self._spawn("web", *(ours if self.checkout == CHECKOUT else before))
        eventually("the web answers", http(f"{url}/healthz"), seconds=60)
        return url

    def log(self, name: str) -> str:
        """What it has said so far."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def _spawn(self, name: str, *arguments: str) -> None:
        log = self.logs / f"{name}.log"
        if self.checkout == CHECKOUT:
            self.processes[name] = fork(*arguments, environment=self.environment, log=log)
        else:
            self.processes[name] = fork_bare(
                *arguments, environment=self.environment, log=log, checkout=self.checkout
            )

    def manage(self, *arguments: str) -> tuple[int, str]:
        """A command in their environment: its exit code, and what it said."""
        log = self.logs / "manage.log"
        log.unlink(missing_ok=True)
        command = fork("manage", *arguments, environment=self.environment, log=log)
        return command.wait(), self.log("manage")

    def wait_until_ready(self, *names: str) -> None:
        nodes = [f"{name}@{gethostname()}" for name in names or ("bulk", "control")]
        with Celery(broker=self.broker, set_as_current=False) as celery:

            def answer() -> bool:
                pongs = celery.control.ping(nodes, timeout=0.5, limit=len(nodes))
                return len(pongs or []) == len(nodes)

            eventually(f"{nodes} answer", answer)

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


def _arguments(name: str, folder: Path) -> tuple[str, ...]:
    celery = ("celery", "-A", "config")
    if name == "beat":
        return (*celery, "beat", "--pidfile=", "-s", str(folder / "schedule"), "-l", "INFO")
    children = "2" if name == "bulk" else "1"
    worker = ("worker", "-n", f"{name}@%h", "-Q", name, "-c", children, "-l", "INFO")
    return (*celery, *worker, "--without-gossip", "--without-mingle")


def database_of_the_tests() -> str:
    """The tests' own, for processes beside them."""
    server = os.environ["DATABASE_URL"].rpartition("/")[0]
    return f"{server}/{connection.settings_dict['NAME']}"


def redis_apart() -> str:
    """Redis for processes that shall not meet the session's workers."""
    return redis_address(settings.REDIS_URL, database=APART)


def unheard() -> str:
    """A broker for who rings no worker: the session's would work in the middle of his test."""
    return redis_address(
        settings.REDIS_URL, database=UNHEARD, ca_file=os.environ.get("REDIS_CA_FILE", "")
    )
