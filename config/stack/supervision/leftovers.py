"""Processes of an earlier launcher that was killed before it could end them.

Every process of a stack inherits a mark in its environment that names the state folder. A pid is
never enough to kill by: it may be somebody else's by now.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

MARK = "CARILLON_STACK"


def processes_of(state: Path) -> list[int]:
    """Pids that carry this state folder's mark (Linux; elsewhere nothing can be told)."""
    mark = f"{MARK}={state}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and mark in _environ(pid)]


def end_leftovers(state: Path, *, patience: float = 4.0) -> int:
    """End what an earlier launcher left, and say how many processes that were.

    SIGINT because PostgreSQL then lets go of its clients, and everybody else takes it as "leave".
    """
    found = processes_of(state)
    _signal(found, signal.SIGINT)
    _signal(_still_there(state, patience), signal.SIGKILL)
    _still_there(state, 2.0)
    return len(found)


def _still_there(state: Path, patience: float) -> list[int]:
    deadline = time.monotonic() + patience
    while (left := processes_of(state)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _pids() -> list[int]:
    with suppress(FileNotFoundError):
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return []


def _environ(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
