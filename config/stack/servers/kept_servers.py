"""Servers for tests that stay up between commands, held by a process of their own.

That process ends them on request, after an hour without use, and when their folder is gone. If it
is killed, the kernel ends them, and the next command that wants them starts new ones.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from config.stack import CHECKOUT, StackError, shared_environment
from config.stack.secret_values import assignments, read_assignments, secret_values
from config.stack.servers.servers import HINTS, start_servers
from config.stack.state import State, claim, write_private
from config.stack.supervision.leftovers import end_leftovers
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.supervisor import StopRequested, Supervisor

HOUR = 3600.0
# Lock files in the state folder. KEPT is locked while the process that keeps the servers lives,
# USED while a command uses them, STARTED while they are started.
KEPT, USED, STARTED = "kept.lock", "kept.used", "kept.started"


def keep(folder: Path, say: Callable[[str], None]) -> int:
    """Be the process that keeps the servers. Its standard error closes once they answer."""
    with claim(folder) as state, _locked(state.path / KEPT):
        end_leftovers(state.path)
        logs = LogFolder(state.logs)
        supervisor = Supervisor(logs, say)
        supervisor.listen()
        try:
            secrets = secret_values(state.path / "secrets", os.environ)
            urls = start_servers(supervisor, state, secrets, os.environ, for_tests=True)
            write_private(state.env_file, assignments(shared_environment.shared(secrets, urls)))
            with logs.fresh("kept").open("ab") as log:
                os.dup2(log.fileno(), sys.stderr.fileno())
            tend_while_used(supervisor, state)
        except StopRequested:
            pass
        finally:
            state.env_file.unlink(missing_ok=True)
            supervisor.stop()
            end_leftovers(state.path)
    return 0


def tend_while_used(supervisor: Supervisor, state: State) -> None:
    last_used = time.monotonic()
    while state.env_file.exists() and time.monotonic() < last_used + HOUR:
        if _is_locked(state.path / USED, fcntl.LOCK_EX):
            last_used = time.monotonic()
        supervisor.tend()
        supervisor.wait()


def start(folder: Path, environ: Mapping[str, str]) -> bool:
    """Start the kept servers, unless they run or the environment names others.

    Returns whether it started them.
    """
    if _names_servers(environ):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / STARTED):
        if _pid(folder):
            return False
        process = subprocess.Popen(
            [sys.executable, "-m", "config.stack", "keep", "--state", str(folder)],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stderr is not None
        output = process.stderr.read()  # until the process ends, or the servers answer
        if not _pid(folder):
            process.wait()
            raise StackError(output.strip().removeprefix("carillon: "))
    return True


@contextmanager
def used(folder: Path, environ: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment for a command that uses them; empty if none run.

    They stay up until the block ends.
    """
    if _names_servers(environ) or not _pid(folder):
        yield {}
        return
    with _locked(folder / USED, fcntl.LOCK_SH):
        file = State(folder.resolve()).env_file
        yield read_assignments(file) if file.is_file() else {}


def stop(folder: Path) -> int:
    """End the servers, even while a command uses them. Returns when they are gone."""
    if pid := _pid(folder):
        os.kill(pid, signal.SIGTERM)
        with _locked(folder / KEPT, fcntl.LOCK_SH):
            pass
    return 0


def _pid(folder: Path) -> int:
    """The pid of the process that keeps the servers; 0 when there is none."""
    return int((folder / "lock").read_text()) if _is_locked(folder / KEPT, fcntl.LOCK_SH) else 0


def _names_servers(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in HINTS)


@contextmanager
def _locked(file: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    with file.open("a") as lock:
        fcntl.flock(lock, kind)
        yield


def _is_locked(file: Path, kind: int) -> bool:
    """Whether another process holds a lock on the file that excludes one of this kind."""
    if not file.exists():
        return False
    with file.open("a") as lock:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
