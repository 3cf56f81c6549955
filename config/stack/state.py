"""The state folder of a stack, and the lock that allows one launcher at a time.

A crash leaves the files. The lock (flock) is the kernel's, and ends with its process.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.stack import StackError


@dataclass(frozen=True)
class State:
    path: Path

    @property
    def logs(self) -> Path:
        return self.path / "log"

    @property
    def emulator(self) -> Path:
        return self.path / "emulator"

    @property
    def env_file(self) -> Path:
        return self.path / "env"


@contextmanager
def claim(path: Path) -> Iterator[State]:
    """Create the state folder if it is missing, and lock it until the block ends."""
    state = State(path.resolve())
    try:
        state.path.mkdir(parents=True, exist_ok=True)
        lock = (state.path / "lock").open("a+")
        for folder in (state.logs, state.emulator, state.path / "beat"):
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StackError(_not_writable(state.path, error)) from error
    with lock:
        _lock_or_name_the_holder(lock, state.path)
        yield state


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner alone from the first byte."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def _lock_or_name_the_holder(lock: IO[str], path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        raise StackError(f"{path} is in use by pid {holder}. Stop that stack first.") from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()


def _not_writable(path: Path, error: OSError) -> str:
    return (
        f"{path} is not writable for uid {os.geteuid()} ({error.strerror}: {error.filename}). "
        "Run as the folder's owner, or work in a checkout of your own."
    )
