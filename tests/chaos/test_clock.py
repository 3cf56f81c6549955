"""A clock of our own, as the chaos suite and the day give it to whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from tests.servers.clock import COMPILER, Clock

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs Linux and a C compiler")

TELLS = "import time\nfor _ in iter(input, ''): print(time.time(), flush=True)"
# Threads that wait for locks measure it without Python's own lock: they ask at the same time.
READS = """
import threading, time
lock = threading.Lock()
lock.acquire()

def wait():
    while True:
        lock.acquire(timeout=0.00005)

for _ in range(3):
    threading.Thread(target=wait, daemon=True).start()
began = time.monotonic()
apart = time.time() - began
seen = [time.time() - time.monotonic() for _ in range(50_000)]
print(max(abs(one - apart) for one in seen))
"""


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    clock = Clock(tmp_path / "clock")
    clock.build(timedelta(days=400))
    return clock


def _under(clock: Clock, program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **clock.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_running_process_is_set_forward_and_back_at_once(clock: Clock) -> None:
    with _under(clock, TELLS) as running:
        assert running.stdin and running.stdout
        for days in (400, -30, 7):
            clock.set_ahead(timedelta(days=days))
            assert clock.ahead() == timedelta(days=days)
            running.stdin.write("and now?\n")
            running.stdin.flush()
            told = float(running.stdout.readline())
            assert abs(told - time.time() - days * 86_400) < 60
        running.stdin.write("\n")


def test_threads_that_ask_at_once_are_all_shown_the_same_clock(clock: Clock) -> None:
    with _under(clock, READS) as running:
        assert running.stdout
        assert float(running.stdout.read()) < 60


def test_who_cannot_read_it_does_not_run_under_the_usual_one(clock: Clock) -> None:
    environment = {**clock.environment, "CARILLON_CLOCK": "/nowhere"}
    program = [sys.executable, "-c", "print('ran')"]
    ended = subprocess.run(
        program, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 70 and not ended.stdout
    assert "cannot be read" in ended.stderr
