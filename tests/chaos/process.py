"""One real process of the chaos: started, killed, frozen, asked to leave, started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from config.stack.supervision.service import Service, spawn
from tests.given.waiting import eventually
from tests.servers.forked import Forked, fork


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


# What is loaded with it, or changes the product before it is imported.
NOT_FORKED = {"LD_PRELOAD", "CHAOS_PLANTED"}


def _begin(service: Service, log: Path) -> subprocess.Popen[bytes] | Forked:
    if service.argv[:2] != (sys.executable, "-m") or NOT_FORKED & service.env.keys():
        return spawn(service, log)
    return fork(*service.argv[2:], environment=service.env, log=log)


class Process:
    """Start it from the main thread only: the kernel ends it with the thread that started it."""

    def __init__(self, service: Service, log: Path, *, ready: str = "") -> None:
        """`ready`: it answers once it has said these words since its start."""
        self.service, self.log, self.ready = service, log, ready
        self.popen: subprocess.Popen[bytes] | Forked | None = None
        self._said_before = 0

    @property
    def name(self) -> str:
        return self.service.name

    @property
    def pid(self) -> int:
        assert self.popen is not None, f"{self.name} was never started"
        return self.popen.pid

    @property
    def alive(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def start(self, *more: str) -> None:
        """Start it, with further arguments if any, and wait until it answers."""
        self.start_only(*more)
        self.wait_until_it_answers()

    def start_only(self, *more: str) -> None:
        self._said_before = self.said(self.ready) if self.ready else 0
        argv = (*self.service.argv, *more)
        self.popen = _begin(replace(self.service, argv=argv), self.log)

    def wait_until_it_answers(self) -> None:
        eventually(f"{self.name} answers", self._answers, seconds=60)

    def kill(self) -> None:
        """As a power cut would: the main process and its children at once, without a word."""
        self.send_all(signal.SIGKILL)
        self.wait(10)

    def kill_parent(self) -> None:
        """Only the main process; what becomes of its children is its own affair."""
        self.send(signal.SIGKILL)
        self.wait(10)

    def leave(self, number: signal.Signals | None = None, *, seconds: float = 30) -> float:
        """Ask it to leave by its own farewell or another signal; how long it took."""
        began = time.monotonic()
        self.send(number or self.service.farewell[0])
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not leave within {seconds:.0f} s") from None
        self.send_all(signal.SIGKILL)  # a child that stayed behind would be a second worker
        return time.monotonic() - began

    def freeze(self) -> None:
        """It and its children stand still, and know nothing of it."""
        self.send_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send_all(signal.SIGCONT)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def send_all(self, number: signal.Signals) -> None:
        """Everything in its session."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def children(self) -> list[int]:
        """Pids of what it forked; of a Celery worker: its pool."""
        try:
            text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except FileNotFoundError:
            return []
        return [int(pid) for pid in text.split()]

    def said(self, words: str) -> int:
        """How often these words stand in its log since its first start."""
        return self.log.read_text(errors="replace").count(words) if self.log.exists() else 0

    def _answers(self) -> bool:
        assert self.alive, f"{self.name} ended while starting; see {self.log}"
        if self.ready:
            return self.said(self.ready) > self._said_before
        return self.service.answers()

    def wait(self, seconds: float) -> int:
        """For its end; the exit code."""
        assert self.popen is not None
        return self.popen.wait(seconds)
