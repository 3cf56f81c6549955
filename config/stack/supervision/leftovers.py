"""Processes of an earlier launcher that was killed before it could end them.

Every process of a stack inherits a mark in its environment that names the state folder. Where
several commands share its servers, a second mark names the command. A pid is never enough to kill
by: it may belong to another process by now.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

MARK = "CARILLON_STACK"
COMMAND = "CARILLON_COMMAND"


def processes_of(state: Path, *, command: str = "") -> list[int]:
    """Pids that carry this state folder's mark, and the command's mark if one is given.

    Linux only; elsewhere it finds none.
    """
    marks = {f"{MARK}={state}".encode(), *([f"{COMMAND}={command}".encode()] if command else [])}
    return [pid for pid in _pids() if pid != os.getpid() and marks <= _environ(pid)]


def end_leftovers(state: Path, *, command: str = "", patience: float = 4.0) -> int:
    """End what an earlier launcher or this command left. Returns how many processes that were.

    It sends SIGINT: PostgreSQL then disconnects its clients, and all other processes just end.
    """
    find = partial(processes_of, state, command=command)
    pids = find()
    _signal(pids, signal.SIGINT)
    _signal(_wait_until_gone(find, patience), signal.SIGKILL)
    _wait_until_gone(find, 2.0)
    return len(pids)


def _wait_until_gone(find: Callable[[], list[int]], patience: float) -> list[int]:
    deadline = time.monotonic() + patience
    while (pids := find()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return pids


def _pids() -> list[int]:
    with suppress(FileNotFoundError):
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return []


def _environ(pid: int) -> set[bytes]:
    with suppress(OSError):
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    return set()


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
