"""Processes of the product, forked as `make run` forks them, because starting Python costs seconds.

`fork` takes a process that has imported the product in the same environment. `fork_bare` takes one
that has imported third-party packages only: for a command that runs once in its environment.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

LONGEST = 64 * 1024
KEPT = 3  # processes that keep the product imported, one for each environment
HERE, CHECKOUT = Path(__file__).parent, Path(__file__).resolve().parents[2]


class Ended(NamedTuple):
    returncode: int
    said: str  # on standard output and standard error


class Forked:
    """The part of `subprocess.Popen` that the tests use."""

    def __init__(self, server: Server, pid: int) -> None:
        self._server, self.pid = server, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.code_of(self.pid)
        return self.returncode

    def wait(self, seconds: float = 60) -> int:
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), seconds)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Server:
    """The client of a process that forks: fork_server.py, or preloaded.py of `make run`."""

    def __init__(self, start: Callable[[socket.socket], object]) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = start(theirs)
        self.begun: list[int] = []
        self.ended: dict[int, int] = {}
        self.running = 0

    def fork(self, order: Mapping[str, Any], stdin: int | None = None) -> Forked:
        said = json.dumps(order).encode()
        if stdin is None:
            self.socket.send(said)
        else:
            socket.send_fds(self.socket, [said], [stdin])
        while not self.begun:
            assert self._take(), "the process that forks has ended"
        self.running += 1
        return Forked(self, self.begun.pop())

    def hear(self) -> None:
        """Who has ended meanwhile."""
        with suppress(BlockingIOError):
            while self._take(socket.MSG_DONTWAIT):
                pass

    def code_of(self, pid: int) -> int | None:
        self.hear()
        return self.ended.pop(pid, None)

    def _take(self, flags: int = 0) -> bool:
        told: dict[str, int] = json.loads(self.socket.recv(LONGEST, flags) or "null")
        if told is None:
            return False
        if "code" in told:
            self.ended[told["pid"]] = told["code"]
            self.running -= 1
        elif "pid" in told:
            self.begun.append(told["pid"])
        return True


def fork(*arguments: str, environment: Mapping[str, str], log: Path) -> Forked:
    """`python -m ARGUMENTS` by one that has imported the product in this environment."""
    log.touch()
    order = {"argv": arguments, "log": str(log), "nice": 0, "orphaned": signal.SIGKILL}
    return _product(environment).fork(order)


def fork_bare(
    *arguments: str,
    environment: Mapping[str, str],
    log: Path,
    checkout: Path = CHECKOUT,
    stdin: socket.socket | None = None,
) -> Forked:
    """`python -m ARGUMENTS`, for once, or in another checkout: it imports that product itself."""
    log.touch()
    order = {
        "argv": arguments,
        "log": str(log),
        "environment": dict(environment),
        "checkout": str(checkout),
    }
    if stdin:
        return _packages().fork(order, stdin.fileno())
    with open(os.devnull) as nothing:  # noqa: PTH123
        return _packages().fork(order, nothing.fileno())


def run_bare(*arguments: str, environment: Mapping[str, str], checkout: Path = CHECKOUT) -> Ended:
    """The same to its end."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        code = fork_bare(*arguments, environment=environment, log=log, checkout=checkout).wait(300)
        return Ended(code, log.read_text(errors="replace"))


@cache
def _packages() -> Server:
    command = [sys.executable, str(HERE / "fork_server.py")]
    return Server(
        lambda stdin: subprocess.Popen(command, stdin=stdin.fileno(), start_new_session=True)
    )


_products: dict[frozenset[tuple[str, str]], Server] = {}


def _product(environment: Mapping[str, str]) -> Server:
    """The one that has imported it in this environment; those longest not asked may go."""
    key = frozenset(environment.items())
    server = _products.pop(key, None) or Server(partial(_import_product, environment))
    _products[key] = server
    for old, other in [*_products.items()][:-KEPT]:
        other.hear()
        if not other.running:
            other.socket.close()
            del _products[old]
    return server


def _import_product(environment: Mapping[str, str], stdin: socket.socket) -> Forked:
    log = Path(tempfile.mkdtemp(prefix="carillon-preloaded-")) / "log"
    return fork_bare(
        "config.stack.supervision.preloaded", environment=environment, log=log, stdin=stdin
    )
