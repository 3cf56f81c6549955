"""Places: the numbered files that processes write their metrics to.

This is prometheus-client's multi-process mode with one difference: a file belongs to a place, not
to a process. When a process ends, even by kill -9, the next one takes over its place and its sums.
Otherwise there would be a file for each process that ever ran.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings
from prometheus_client import values

ROOM = 1 << 18  # bytes of a file: enough for a thousand series
KINDS = ("counter", "histogram")


class FileSlot:
    """The lowest number that no other process holds. The kernel frees it when the process ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock: int | None = None
        self.holder = 0
        self.number = 0

    def __call__(self) -> int:
        if self.holder != os.getpid():  # the first value, or the first after a fork
            if self.lock is not None:
                os.close(self.lock)  # our copy; the parent keeps its own
                self.lock = None
            self.number = self._take_number()
            self.holder = os.getpid()
        return self.number

    def _take_number(self) -> int:
        for number in count():
            self.lock = os.open(self.folder / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            with suppress(BlockingIOError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for kind in KINDS:
                    self._make_room(self.folder / f"{kind}_{number}.db")
                return number
            os.close(self.lock)
        raise AssertionError("numbers do not end")

    def _make_room(self, file: Path) -> None:
        """Allocate the whole file. A full disk raises an error here. Later, in memory that is
        mapped to the file, it would kill the process."""
        if file.exists():
            with file.open("r+b") as known:  # files of earlier releases may be shorter
                os.posix_fallocate(known.fileno(), 0, ROOM)
            return
        draft = file.with_suffix(".new")
        with draft.open("wb") as new:
            os.posix_fallocate(new.fileno(), 0, ROOM)
        draft.rename(file)  # atomic: /metrics may read it from now on


def in_files() -> None:
    """Keep all metric values that are created from now on in this process's files, if there is a
    folder."""
    if settings.METRICS_DIR:
        values.ValueClass = _in_a_file


def folder() -> Path:
    """Return the folder, and create it if necessary. Raises OSError."""
    path = Path(settings.METRICS_DIR)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _in_a_file(*arguments: Any, **named: Any) -> Any:
    return _values()(*arguments, **named)


@cache
def _values() -> Any:
    ours = folder()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(ours)  # the library reads it for each value
    return values.MultiProcessValue(FileSlot(ours))  # type: ignore[no-untyped-call]
