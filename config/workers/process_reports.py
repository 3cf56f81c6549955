"""Reports of worker processes: each notes its state in Redis every ten seconds.

They are gauges, and nothing depends on them: a process that falls silent is forgotten within a
minute. A thread of the process itself notes them. So they work for any number of machines, and show
a process that waits for PostgreSQL as well.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import redis
from celery.signals import (
    celeryd_after_setup,
    task_postrun,
    worker_process_init,
    worker_process_shutdown,
)
from django.conf import settings

EVERY = 10.0  # seconds
FORGOTTEN_AFTER = 60.0
KEY = "carillon:processes"
STATM = Path("/proc/self/statm")


@dataclass(frozen=True)
class Process:
    worker: str  # as Celery calls it: bulk@host
    pid: int
    queue: str
    done: int  # tasks
    memory: int  # bytes, in use now
    cpu: float  # share of one processor, since the last note
    started: float
    seen: float

    @property
    def silent_for(self) -> float:
        return max(0.0, time.time() - self.seen)

    @property
    def up_for(self) -> float:
        return max(0.0, time.time() - self.started)

    @property
    def percent(self) -> int:
        """The use of one processor, in percent."""
        return round(100 * self.cpu)


class ProcessReporter:
    """Notes the state of this process, for its whole life."""

    def __init__(self, worker: str, queue: str) -> None:
        self.worker, self.queue = worker, queue
        self.done = 0
        self.started = self.looked_at = time.time()
        self.cpu = time.process_time()
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._go, name="noting", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        with suppress(redis.RedisError):
            _client().hdel(KEY, self._field)

    def _go(self) -> None:
        while True:
            with suppress(redis.RedisError):  # Redis comes back, and the next note is written
                _client().hset(KEY, self._field, json.dumps(asdict(self._measure())))
            if self._stopped.wait(EVERY):
                return

    @property
    def _field(self) -> str:
        return f"{self.worker} {os.getpid()}"

    def _measure(self) -> Process:
        now, cpu = time.time(), time.process_time()
        used = (cpu - self.cpu) / max(0.001, now - self.looked_at)
        self.looked_at, self.cpu = now, cpu
        return Process(
            worker=self.worker,
            pid=os.getpid(),
            queue=self.queue,
            done=self.done,
            memory=memory_in_use(),
            cpu=round(used, 3),
            started=self.started,
            seen=now,
        )


_of_this_worker: dict[str, str] = {}  # known before its processes are forked
_ours: ProcessReporter | None = None


@celeryd_after_setup.connect
def remember_worker(sender: str, instance: Any, **signal: Any) -> None:
    _of_this_worker.update(worker=sender, queue=",".join(instance.app.amqp.queues.consume_from))


@worker_process_init.connect
def start(**signal: Any) -> None:
    global _ours
    _ours = ProcessReporter(**_of_this_worker)
    _ours.start()


@worker_process_shutdown.connect
def stop(**signal: Any) -> None:
    if _ours:
        _ours.stop()


@task_postrun.connect
def count(**signal: Any) -> None:
    if _ours:
        _ours.done += 1


def memory_in_use() -> int:
    """Memory in use now; the most that it ever was where the kernel does not tell."""
    try:
        return int(STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def processes() -> list[Process]:
    """Processes of all workers, on all machines. Raises RedisError."""
    notes = _client().hgetall(KEY)
    reports = {field: Process(**json.loads(note)) for field, note in notes.items()}
    if outdated := [
        field for field, process in reports.items() if process.silent_for > FORGOTTEN_AFTER
    ]:
        _client().hdel(KEY, *outdated)
    current = [process for field, process in reports.items() if field not in outdated]
    return sorted(current, key=lambda process: (process.worker, process.pid))


def _client() -> redis.Redis:
    return _client_of(settings.BROKER_URL)


@cache
def _client_of(url: str) -> redis.Redis:
    """A client of Redis. Its sockets are its process's own, also after a fork."""
    return redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
