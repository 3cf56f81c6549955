"""A sender's side of a measurement: warm up, wait for the word, send, say what it took."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.processes import peak_mb

CONNECTIONS = 250  # of each process, as a worker of Carillon has
WARM_UP = 2 * CONNECTIONS


@dataclass
class Tally:
    accepted: int = 0
    refused: int = 0


@contextmanager
def measured() -> Iterator[Tally]:
    """Everything inside counts: wall clock, and the CPU of all threads of this process."""
    print("ready", flush=True)
    sys.stdin.readline()
    tally = Tally()
    cpu, started = time.process_time(), time.monotonic()
    yield tally
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu
    told = {**vars(tally), "seconds": seconds, "cpu_seconds": cpu_seconds}
    told["peak_mb"] = peak_mb(os.getpid())
    print(json.dumps(told), flush=True)
