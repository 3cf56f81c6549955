"""Processes forked from one that has imported the product: the launcher's side (see preloaded.py).

A stack then imports the product once, not once for each process. Processes start at once, and share
that memory.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from config.stack import StackError
from config.stack.supervision.service import Service, spawn

PRELOADED = (sys.executable, "-m", "config.stack.supervision.preloaded")
LONGEST = 64 * 1024  # bytes of a message, in either direction


class Forked:
    """A forked process, with the methods of `subprocess.Popen` that the supervisor uses."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.server, self.parent, self.pid = server, server.process, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.server.hear()
            self.returncode = self.server.ended.pop(self.pid, None)
        if self.returncode is None and self.parent.poll() is not None:
            self.returncode = -signal.SIGKILL  # it ended with its parent
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> None:
        while self.poll() is None:
            time.sleep(0.05)


class ForkServer:
    """The process that forks the others. It begins to import the product at once.

    If it is killed, its processes end with it, and the next fork starts another one.
    """

    def __init__(self, env: Mapping[str, str], log: Path) -> None:
        self.service = Service("preloaded", PRELOADED, env, bool, when_orphaned=signal.SIGKILL)
        self.log = log
        self._start()

    def _start(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process: subprocess.Popen[bytes] = spawn(
                self.service, self.log, stdin=theirs.fileno()
            )
        self.has_imported = False
        self.begun: list[int] = []
        self.ended: dict[int, int] = {}

    def fork(self, service: Service, log: Path) -> Forked:
        """Fork a process for the command `python -m MODULE …`. It gets the server's environment."""
        if self.process.poll() is not None:
            self.stop()
            self._start()
        order = {"argv": service.argv[2:], "log": str(log), "nice": service.nice}
        with suppress(ConnectionError):  # the server has just ended
            self.socket.send(json.dumps({**order, "orphaned": service.when_orphaned}).encode())
        while not self.begun:
            if not self._take_message():
                raise StackError(f"{service.name} could not be forked. Log: {self.log}")
        return Forked(self, self.begun.pop())

    def answers(self) -> bool:
        """Whether a fork need not wait: the import is over, or the server has ended."""
        self.hear()
        return self.has_imported or self.process.poll() is not None

    def hear(self) -> None:
        """Note which processes have ended meanwhile, without waiting."""
        with suppress(BlockingIOError):
            while self._take_message(socket.MSG_DONTWAIT):
                pass

    def _take_message(self, flags: int = 0) -> bool:
        """Read one message. Returns False if the server has ended."""
        try:
            message = self.socket.recv(LONGEST, flags)
        except ConnectionError:
            return False
        if message:
            report: dict[str, Any] = json.loads(message)
            if "code" in report:
                self.ended[report["pid"]] = report["code"]
            elif "pid" in report:
                self.begun.append(report["pid"])
            self.has_imported = True
        return bool(message)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.socket.close()
