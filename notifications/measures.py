"""What processes measure themselves, for `/metrics`: each has a file, and the web adds them up.

prometheus-client's multi-process mode, but for one thing: a file belongs to a place, not to a
process. Who ends, by kill -9 too, leaves its place and its sums to the next; otherwise there would
be a file for each process that ever was.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings
from prometheus_client import CollectorRegistry, Histogram, values
from prometheus_client.multiprocess import MultiProcessCollector

OURS = CollectorRegistry()
ROOM = 1 << 16  # bytes of a new file; prometheus-client's own choice

log = logging.getLogger(__name__)


class Place:
    """The lowest number that no other process holds. The kernel takes it back from whoever ends."""

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
            self.number = self._take()
            self.holder = os.getpid()
        return self.number

    def _take(self) -> int:
        for number in count():
            self.lock = os.open(self.folder / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            with suppress(BlockingIOError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._make_room(self.folder / f"histogram_{number}.db")
                return number
            os.close(self.lock)
        raise AssertionError("numbers do not end")

    def _make_room(self, file: Path) -> None:
        """A full disk is an error here. In memory that is mapped to a file it ends the process."""
        if file.exists():
            return
        draft = file.with_suffix(".new")
        with draft.open("wb") as new:
            os.posix_fallocate(new.fileno(), 0, ROOM)
        draft.rename(file)  # whole at once: /metrics may read it from now on


class Measure:
    """How long something takes, by one label. Nothing fails because it could not be measured."""

    def __init__(self, name: str, text: str, label: str, buckets: Sequence[float]) -> None:
        if settings.METRICS_DIR:
            values.ValueClass = _in_a_file
        self.name = name
        self.histogram = Histogram(name, text, [label], buckets=buckets, registry=OURS)
        self.fails = False

    def add(self, label: str, seconds: float) -> None:
        if self.fails:
            return
        try:
            self.histogram.labels(label).observe(seconds)
        except OSError as error:
            self.fails = True  # said once, not for each message
            log.warning("not measured here: %s: METRICS_DIR: %s", self.name, error)


def register(registry: CollectorRegistry) -> None:
    """Without a folder, this process knows of itself only."""
    if not settings.METRICS_DIR:
        registry.register(OURS)
        return
    try:
        MultiProcessCollector(registry, str(_folder()))  # type: ignore[no-untyped-call]
    except OSError as error:
        log.warning("nothing that was measured is shown: METRICS_DIR: %s", error)


def _in_a_file(*arguments: Any, **named: Any) -> Any:
    return _values()(*arguments, **named)


@cache
def _values() -> Any:
    folder = _folder()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)  # each value reads it there
    return values.MultiProcessValue(Place(folder))  # type: ignore[no-untyped-call]


def _folder() -> Path:
    folder = Path(settings.METRICS_DIR)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
