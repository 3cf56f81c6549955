"""A whole stack for the benchmark, started by the command a user types, on ports of its own.

Beside it stands an emulator of the benchmark's own, so that every row of the table is served by the
same processes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.processes import cpu_seconds
from bench.servers import LATENCY_MS, Fcm, emulator
from config.stack.secret_values import read_assignments
from config.stack.servers import postgres

EMULATORS = 2
LOOK_EVERY = 0.5


class Stack:
    """`make run` in a folder that starts empty."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int | None = None,
        latency_ms: float = LATENCY_MS,
        fcm: Fcm | None = None,
        transport: str = "",
        different: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.workers = workers or 2 * (os.cpu_count() or 2)  # as `make run` has it
        self._latency_ms = latency_ms
        self._fcm = fcm  # None: an emulator of its own
        self._different = {**({"TRANSPORT": transport} if transport else {}), **(different or {})}

    def beside(self, transport: str) -> Stack:
        """Another one with as many workers, to which the same processes play FCM."""
        return Stack(
            self.folder / transport, workers=self.workers, fcm=self.fcm, transport=transport
        )

    def __enter__(self) -> Stack:
        shutil.rmtree(self.state, ignore_errors=True)
        with ExitStack() as started:
            self.fcm = self._fcm or started.enter_context(self._emulator())
            self.emulator_pid, known = self.fcm
            self._launch({**known, **self._different, "WORKERS": str(self.workers)})
            started.callback(self._stop)
            self._wait_until_ready()
            self._started = started.pop_all()
        self.env = dict(
            line.split("=", 1)
            for line in (self.state / "env").read_text().splitlines()
            if "=" in line
        )
        key = self.manage("create_api_key", "bench", "--project", "demo").split()
        self.key = next(word for word in key if word.startswith("car_"))
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    def _emulator(self) -> AbstractContextManager[Fcm]:
        folder = self.folder / "emulator"
        shutil.rmtree(folder, ignore_errors=True)
        return emulator(folder, processes=EMULATORS, latency_ms=self._latency_ms)

    def _launch(self, env: dict[str, str]) -> None:
        names = ("PORT", "FEED_PORT", "FLOWER_PORT", "EMULATOR_PORT")
        ports = dict(zip(names, _free_ports(len(names)), strict=True))
        self.url = f"http://127.0.0.1:{ports['PORT']}"
        self.launcher = subprocess.Popen(
            [sys.executable, "-m", "config.stack", "run", "--state", str(self.state)],
            env={**os.environ, **env, **{name: str(port) for name, port in ports.items()}},
            stdout=subprocess.PIPE,
            text=True,
        )

    def _stop(self) -> None:
        self.launcher.send_signal(signal.SIGTERM)
        self.launcher.wait(60)

    def cpu(self) -> Counter[str]:
        """CPU seconds so far by kind of process; the emulator is the one that serves the rows."""
        return cpu_seconds(self.launcher.pid) + cpu_seconds(self.emulator_pid)

    def emulator_cpu(self) -> float:
        return float(cpu_seconds(self.emulator_pid)["emulator"])

    def witness(self) -> Path:
        return Path(self.env["FCM_CA_FILE"]).with_name("witness.jsonl")

    def superusers_url(self) -> str:
        """For what the product itself may not do to PostgreSQL."""
        port = urlsplit(self.env["DATABASE_URL"]).port
        return postgres.superusers_url(port or 0, read_assignments(self.state / "secrets"))

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        return self.run(*command)

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, env={**os.environ, **self.env}, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def started(self, *command: str) -> subprocess.Popen[str]:
        """A conversation: it reads what we write, and we read what it prints."""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env={**os.environ, **self.env}, **pipes)

    def api(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def until(
        self, path: str, met: Callable[[dict[str, Any]], bool], *, seconds: float = 1800
    ) -> dict[str, Any]:
        """What the API says of it once that is so."""
        ends = time.monotonic() + seconds
        while not met(seen := dict(self.api("GET", path))):
            if time.monotonic() > ends:
                raise SystemExit(f"Not within {seconds:,.0f} s: {seen}")
            time.sleep(LOOK_EVERY)
        return seen

    def emulator(self, path: str, body: Any = None) -> Any:
        tls = ssl.create_default_context(cafile=self.env["FCM_CA_FILE"])
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.env["FCM_ENDPOINT"] + path, data, context=tls) as reply:
            return json.load(reply)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.launcher.poll() is not None:
                assert self.launcher.stdout is not None
                raise SystemExit(f"The stack did not start:\n{self.launcher.stdout.read()}")
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    if (self.state / "env").exists():
                        return
            except OSError:
                time.sleep(0.5)
        raise SystemExit(f"The stack did not answer within two minutes; see {self.state}/log.")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
