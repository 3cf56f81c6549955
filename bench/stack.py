"""A whole stack for the benchmark, started by the command a user types, on ports of its own."""

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
from pathlib import Path
from typing import Any

# What FCM takes to answer, as far as anybody published.
LATENCY_MS = 60


class Stack:
    """`make run` in a folder that starts empty."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def __enter__(self) -> Stack:
        shutil.rmtree(self.state, ignore_errors=True)
        ports = dict(zip(("PORT", "FLOWER_PORT", "EMULATOR_PORT"), _free_ports(3), strict=True))
        self.url = f"http://127.0.0.1:{ports['PORT']}"
        command = [sys.executable, "-m", "config.stack", "run", "--state", str(self.state)]
        self.launcher = subprocess.Popen(
            command,
            env={**os.environ, **{name: str(port) for name, port in ports.items()}},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._wait_until_ready()
        self.env = dict(
            line.split("=", 1)
            for line in (self.state / "env").read_text().splitlines()
            if "=" in line
        )
        key = self.manage("create_api_key", "bench", "--project", "demo").split()
        self.key = next(word for word in key if word.startswith("car_"))
        return self

    def __exit__(self, *_: object) -> None:
        self.launcher.send_signal(signal.SIGTERM)
        self.launcher.wait(30)

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, env={**os.environ, **self.env}, check=True, capture_output=True, text=True
        )
        return done.stdout

    def api(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

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
                    return
            except OSError:
                time.sleep(0.5)
        raise SystemExit("The stack did not answer within two minutes; see var/bench/state/log.")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
