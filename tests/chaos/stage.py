"""The stage: PostgreSQL, Valkey, the emulator and the workers, all our own, on free ports.

Knows nothing of Django, so that it can stand before the settings are read. Everything lives in one
throwaway folder; whatever dies with us, the kernel ends.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from config.front.command import command
from config.stack import shared_environment
from config.stack.answers import http
from config.stack.ports import embedded_ports
from config.stack.secret_values import secret_values
from config.stack.servers import postgres, valkey
from config.stack.state import State, claim
from config.stack.supervision.account import quarters
from config.stack.supervision.leftovers import end_leftovers
from config.stack.supervision.service import Service
from tests.chaos.process import Process
from tests.servers.fcm import Fcm
from tests.servers.ports import free_ports

POOL = 2  # children of a bulk worker
QUEUES = {"bulk": str(POOL), "urgent": str(POOL), "control": "1", "outgoing": "1"}
WORKERS = ("bulk", "control", "beat")
# 25 connections to an FCM 50 ms away: 500 messages a second and child, so a fault finds a run under
# way, and two cores are enough.
CONNECTIONS, LATENCY_MS = "25", 50


class Stage:
    """What a fault may lay hands on.

    `postgres`, `valkey`: a Process each (kill, freeze, leave, start again).
    `fcm`: the emulator, scripted as in tests/servers/fcm.py.
    `workers`: the running ones by name (bulk, urgent, control, beat, web), a Process each.
    `environment`: what every process of the product gets.
    `random`: for what looks like chance, from --seed.
    """

    def __init__(self, state: State, *, seed: int) -> None:
        self.state, self.random = state, random.Random(seed)
        secrets = secret_values(state.path / "secrets", {})
        ports, home = embedded_ports(state.path / "ports.json"), quarters(state.path)
        urls = {
            # Its superuser's: the faults lay hands on the server itself.
            "DATABASE_URL": postgres.superusers_url(ports["postgres"], secrets),
            "REDIS_URL": valkey.url(ports["valkey"], secrets["VALKEY_PASSWORD"]),
        }
        marked = shared_environment.marked(os.environ, state, {})
        self.postgres = self._process(
            postgres.service(home, ports["postgres"], secrets, marked, for_tests=False)
        )
        self.valkey = self._process(
            valkey.service(home, ports["valkey"], secrets["VALKEY_PASSWORD"], marked)
        )
        self.fcm = Fcm(state.emulator, latency_ms=LATENCY_MS)
        given = {"CARILLON_ENV": "test", "WORKERS": "2", "CONNECTIONS": CONNECTIONS}
        given |= {**shared_environment.shared(secrets, urls), **self.fcm.environment}
        given["DJANGO_SETTINGS_MODULE"] = "config.settings"
        self.environment = shared_environment.marked(os.environ, state, given)
        self.workers: dict[str, Process] = {}
        self._different: dict[str, Mapping[str, str]] = {}

    def start_servers(self) -> None:
        self.postgres.start()
        self.valkey.start()

    def have_workers(
        self, *names: str, different: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """See that exactly these run, each with what is different in its environment.

        Those that run already in the same environment are kept: a start costs seconds.
        """
        wanted = {name: (different or {}).get(name, {}) for name in names}
        for name in list(self.workers):
            if wanted.get(name) != self._different[name] or not self.workers[name].alive:
                self.end_worker(name)
        fresh = [name for name in names if name not in self.workers]
        for name in fresh:
            self.prepare_worker(name, wanted[name]).start_only()
        for name in fresh:
            self.workers[name].wait_until_it_answers()

    def start_worker(self, name: str, different: Mapping[str, str] | None = None) -> Process:
        """Start bulk, control, beat, or one more under a name such as `bulk.2`."""
        process = self.prepare_worker(name, different)
        process.start()
        return process

    def tend(self) -> list[str]:
        """Start again whoever ended by himself, as systemd or compose would; their names."""
        ended = [name for name, process in self.workers.items() if not process.alive]
        for name in ended:
            self.workers[name].send_all(signal.SIGKILL)  # what it may have left behind
            self.workers[name].start_only()
        return ended

    def end_worker(self, name: str) -> None:
        """Away with it, whatever state it is in."""
        process = self.workers.pop(name)
        process.kill()

    def start_web(self, different: Mapping[str, str] | None = None) -> str:
        """The admin and the API on a port of their own; the address."""
        (port,) = free_ports(1)
        url = f"http://127.0.0.1:{port}"
        argv = command(application="tests.chaos.web:application", port=str(port), processes=1)
        answers, env = http(f"{url}/healthz"), {**self.environment, **(different or {})}
        self.workers["web"] = self._process(Service("web", argv, env, answers))
        self._different["web"] = {}
        self.workers["web"].start()
        return url

    def start_feed(self, different: Mapping[str, str] | None = None) -> int:
        """What takes receipts, on a port of its own; the port."""
        (port,) = free_ports(1)
        argv = (sys.executable, "-m", "tests.chaos.feed", "--port", str(port))
        answers = http(f"http://127.0.0.1:{port}/healthz")
        env = {**self.environment, **(different or {})}
        self.workers["feed"] = self._process(Service("feed", argv, env, answers))
        self._different["feed"] = {}
        self.workers["feed"].start()
        return port

    def deaths(self) -> int:
        """How many pool children the workers have seen dying since the stage began."""
        return len(self._said(r"exited with 'signal"))

    def killed_at(self) -> list[datetime]:
        """When failpoints killed, since the stage began."""
        said = self._said(r"failpoint \w+ kills at ([\d.]+)")
        return sorted(datetime.fromtimestamp(float(at), UTC) for at in said)

    def _said(self, pattern: str) -> list[str]:
        logs = self.state.logs.glob("*.log")
        return [
            found for log in logs for found in re.findall(pattern, log.read_text(errors="replace"))
        ]

    def close(self) -> None:
        for process in (*self.workers.values(), self.valkey, self.postgres):
            if process.alive:
                process.kill()
        self.fcm.stop()

    def prepare_worker(self, name: str, different: Mapping[str, str] | None = None) -> Process:
        """Not started yet: for those that are not expected to come up."""
        service = _service(name, {**self.environment, **(different or {})}, self.state)
        # Ready is what it says in its log: asking it through Redis would need Redis.
        ready = "beat: Starting" if name.startswith("beat") else "@chaos ready"
        self._different[name] = dict(different or {})
        self.workers[name] = self._process(service, ready=ready)
        return self.workers[name]

    def _process(self, service: Service, *, ready: str = "") -> Process:
        return Process(service, self.state.logs / f"{service.name}.log", ready=ready)


@contextmanager
def stage(*, seed: int, keep: bool = False) -> Iterator[Stage]:
    """A stage with its servers up and no workers yet. `keep`: leave the folder with the logs."""
    folder = Path(tempfile.mkdtemp(prefix="carillon-chaos-"))
    folder.chmod(0o755)  # PostgreSQL's account has to get through
    try:
        with claim(folder) as state:
            built = Stage(state, seed=seed)
            try:
                built.start_servers()
                yield built
            finally:
                built.close()
                end_leftovers(state.path)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _service(name: str, env: Mapping[str, str], state: State) -> Service:
    # Our own application: Celery's, with the planted bug that CHAOS_PLANTED names, if any.
    argv: tuple[str, ...] = (sys.executable, "-m", "celery", "-A", "tests.chaos.app")
    if name == "beat" or name.startswith("beat."):
        schedule = str(state.path / "beat" / name)
        argv += ("beat", "-s", schedule, "--pidfile=", "-l", "INFO")
    else:
        queue = name.partition(".")[0]
        argv += ("worker", "-n", f"{name}@chaos", "-Q", queue, "-c", QUEUES[queue])
        argv += ("--without-gossip", "--without-mingle", "-l", "INFO")
    farewell = (signal.SIGTERM, signal.SIGQUIT)
    return Service(name, argv, env, lambda: True, farewell=farewell, when_orphaned=signal.SIGKILL)
