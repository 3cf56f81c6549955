"""Keeps every process of the stack alive, and ends them all within ten seconds.

A process that dies is started again, with a growing pause and a line that says so. honcho cannot
replace this code: it ends the whole stack when one process exits. It also signals process groups,
which kills the children of Celery workers in the middle of a window.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from config.stack import StackError
from config.stack.supervision.forking import Forked, ForkServer
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.service import Service, spawn

TICK = 0.1
LONGEST_PAUSE = 30.0
HEALTHY_AFTER = 60.0
# Seconds after each farewell signal before the next one; SIGKILL comes last. The processes of the
# product go first and the servers they use afterwards: 5 + 1.5 + 2 + 1 s leaves room within ten.
PATIENCE = {False: (5.0, 1.5), True: (2.0, 1.0)}


class StopRequested(Exception):
    """Ctrl-C, SIGTERM or a closed terminal; raised only where the launcher waits."""


@dataclass
class Child:
    service: Service
    process: subprocess.Popen[bytes] | Forked
    started_at: float
    pause: float = 1.0
    restart_at: float | None = None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end_session(self) -> None:
        """End what the main process left behind: a killed Celery worker leaves its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Supervisor:
    def __init__(self, logs: LogFolder, say: Callable[[str], None]) -> None:
        self.logs = logs
        self.say = say
        self.children: dict[str, Child] = {}
        self.fork_server: ForkServer | None = None
        self.stop_requests = 0
        self.last_signal = 0

    def listen(self) -> None:
        """Treat signals as requests: one stops the stack, a second one ends the patience."""
        signal.signal(signal.SIGINT, self._note_stop)
        signal.signal(signal.SIGTERM, self._note_stop)
        if (
            signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        ):  # nohup means to outlive the terminal
            signal.signal(signal.SIGHUP, self._note_stop)

    def preload(self, env: Mapping[str, str]) -> None:
        """Import the product, for the services that fork.

        Linux only. Elsewhere libraries of the system do not survive a fork, so services are
        started.
        """
        if sys.platform == "linux":
            self.fork_server = ForkServer(env, self.logs.fresh("preloaded"))

    def start(self, services: Iterable[Service]) -> None:
        for service in services:
            log = self.logs.fresh(service.name)
            self.children[service.name] = Child(
                service, self._begin(service, log), time.monotonic()
            )

    def await_answers(self, names: Sequence[str], *, seconds: float) -> None:
        """Return when every named service has answered once.

        Raises StackError with the names of those that do not.
        """
        deadline = time.monotonic() + seconds
        silent = list(names)
        while silent:
            for child in (self.children[name] for name in silent):
                if not child.alive:
                    raise StackError(
                        f"{self._describe_end(child)}\n{self.logs.tail(child.service.name)}"
                    )
            silent = [name for name in silent if not self.children[name].service.answers()]
            if silent and time.monotonic() > deadline:
                raise StackError(
                    f"No answer from {', '.join(silent)} within {seconds:.0f} s.\n"
                    f"{self.logs.tail(silent[0])}"
                )
            self.wait()

    def run_to_end(self, service: Service) -> None:
        """Run a one-off (migrations, say); anything but success stops the start."""
        self.start([service])
        child = self.children[service.name]
        while child.alive:
            self.wait()
        if child.process.returncode:
            raise StackError(f"{self._describe_end(child)}\n{self.logs.tail(service.name)}")
        del self.children[service.name]

    def tend(self) -> None:
        """Look at every child once: note the dead, and start again those whose pause is over."""
        now = time.monotonic()
        for child in self.children.values():
            if child.restart_at is None and not child.alive:
                self._schedule_restart(child, now)
            elif child.restart_at is not None and now >= child.restart_at:
                self._restart(child, now)
        self.logs.keep_small()

    def wait(self) -> None:
        time.sleep(TICK)
        if self.stop_requests:
            raise StopRequested

    def stop(self) -> None:
        """End everything, the servers last.

        A second request cuts the wait for all but the servers.
        """
        for last in (False, True):
            children = [c for c in self.children.values() if c.service.serves_others is last]
            for step, patience in enumerate(PATIENCE[last]):
                _ask_to_leave(children, step)
                self._await_end(children, patience, hurry=not last)
            for child in children:
                child.end_session()
                child.process.wait()
        self.children.clear()
        if self.fork_server:
            self.fork_server.stop()

    def _await_end(self, children: list[Child], seconds: float, *, hurry: bool) -> None:
        deadline = time.monotonic() + seconds
        while any(child.alive for child in children) and time.monotonic() < deadline:
            if hurry and self.stop_requests > 1:
                return
            time.sleep(TICK / 2)

    def _begin(self, service: Service, log: Path) -> subprocess.Popen[bytes] | Forked:
        if service.forks and self.fork_server:
            while not self.fork_server.answers():
                self.wait()
            return self.fork_server.fork(service, log)
        return spawn(service, log)

    def _note_stop(self, number: int, frame: object) -> None:
        self.stop_requests += 1
        self.last_signal = number

    def _schedule_restart(self, child: Child, now: float) -> None:
        child.end_session()
        if now - child.started_at > HEALTHY_AFTER:
            child.pause = 1.0
        child.restart_at = now + child.pause
        self.say(
            f"{self._describe_end(child)} Starting it again in {child.pause:.0f} s. "
            f"Log: {self.logs.path(child.service.name)}"
        )
        child.pause = min(child.pause * 2, LONGEST_PAUSE)

    def _restart(self, child: Child, now: float) -> None:
        log = self.logs.path(child.service.name)
        child.process = self._begin(child.service, log)
        child.started_at, child.restart_at = now, None
        self.say(f"{child.service.name} runs again (pid {child.process.pid}).")

    def _describe_end(self, child: Child) -> str:
        code = child.process.returncode or 0
        ending = (
            f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        )
        return f"{child.service.name} (pid {child.process.pid}) {ending}."


def _ask_to_leave(children: Iterable[Child], step: int) -> None:
    for child in children:
        if child.alive and step < len(child.service.farewell):
            child.process.send_signal(child.service.farewell[step])
