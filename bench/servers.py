"""Servers that only the table needs: each says its address when it is ready, and ends with us."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Environment = dict[str, str]
Fcm = tuple[int, Environment]  # who plays it: its first process, and what a sender must know
# What FCM takes to answer, as far as anybody published: a median and a long tail. Log-normal, so
# that these two mean 60 ms with a standard deviation of 40.
LATENCY_MS = 60
LATENCY_P99_MS = 200


@contextmanager
def emulator(folder: Path, *, processes: int, latency_ms: float = LATENCY_MS) -> Iterator[Fcm]:
    """An emulator of so many processes."""
    arguments = ["--port", "0", "--processes", str(processes), "--latency-ms", str(latency_ms)]
    arguments += ["--set", f"latency_p99_ms={p99_of(latency_ms)}"]
    with serving("emulator", "--dir", str(folder), *arguments) as (pid, address):
        yield (
            pid,
            {
                "FCM_ENDPOINT": address,
                "FCM_TOKEN_URI": address + "/token",
                "FCM_CA_FILE": str(folder / "ca.pem"),
                "FCM_SERVICE_ACCOUNT_FILE": str(folder / "service-account.json"),
            },
        )


def p99_of(latency_ms: float) -> float:
    return latency_ms * LATENCY_P99_MS / LATENCY_MS


@contextmanager
def serving(module: str, *arguments: str) -> Iterator[tuple[int, str]]:
    server = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        if not line:
            raise SystemExit(f"{module} did not start; what it said stands above.")
        yield server.pid, line.split()[-1]
    finally:
        server.terminate()
        server.wait(30)
