"""What one message costs: CPU of all processes, from the call to FCM's answer."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from bench import people
from bench.messages.callers import Calls
from bench.messages.messages import fresh, warm
from bench.messages.outcome import Part, answers, ids_of, milliseconds
from bench.stack import Stack
from bench.table import row, rule

RATES = (50, 300)  # calls a second
TURNS, SECONDS = 5, 10
PEOPLE = 20_000
KINDS = ("web", "postgresql", "workers", "valkey")

Found = dict[str, Any]


def measure(folder: Path, *, turns: int = TURNS, seconds: float = SECONDS) -> Found:
    """Turns of both rates, one after the other: the machine's speed changes meanwhile."""
    with Stack(folder) as stack:
        people.fill(stack, PEOPLE)
        warm(stack, PEOPLE)
        idle = _idle(stack, seconds)
        found = [
            {str(rate): _turn(stack, rate, seconds, idle) for rate in RATES} for _ in range(turns)
        ]
    return {"turns": found, "text": text(found)}


def _idle(stack: Stack, seconds: float) -> Found:
    """CPU seconds a second of what is there anyway."""
    before = stack.cpu()
    time.sleep(seconds)
    used = stack.cpu() - before
    return {kind: used[kind] / seconds for kind in KINDS}


def _turn(stack: Stack, rate: int, seconds: float, idle: Found) -> Found:
    """In milliseconds of CPU a message, of each kind of process."""
    part, ours = Part(stack), fresh(int(rate * seconds), PEOPLE)
    before, began = stack.cpu(), time.monotonic()
    heard = Calls(stack, "steadily", messages=ours, rate=rate).heard()
    time.sleep(1)  # the last of them are sent
    used, took = stack.cpu() - before, time.monotonic() - began
    ids = ids_of(heard)
    told = part.end(ids, leaving=ids)
    lag = milliseconds(told.pop("lags"))
    cost = {kind: 1e3 * (used[kind] - idle[kind] * took) / len(ids) for kind in KINDS}
    return {**answers(heard), **told, **cost, "sum": sum(cost.values()), "lag": lag}


def text(turns: list[Found]) -> str:
    """Others on the machine make it cheaper: who waits shares a turn. Compare A, B, A, B."""
    head = tuple(f"{rate} a second" for rate in RATES)
    lines = [
        row(kind, tuple(f"{_median(turns, rate, kind):.2f}" for rate in RATES))
        for kind in (*KINDS, "sum")
    ]
    return "\n".join([row("CPU of a message, ms", head), rule(head), *lines])


def _median(turns: list[Found], rate: int, kind: str) -> float:
    return float(statistics.median(turn[str(rate)][kind] for turn in turns))
