"""A soak: run after run for many minutes, and what each process holds meanwhile.

A worker's child is replaced after a thousand chunks, so growth is judged within a child's life.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench import launch, people
from bench.processes import Holding, holdings
from bench.stack import Stack

MESSAGES = 400_000
SAMPLE_EVERY = 5.0
WARM_UP_SHARE = 0.2  # of a process's life: caches fill, connections open
FEWEST = 6  # samples that make a slope

Samples = dict[int, list[tuple[float, Holding]]]


def measure(folder: Path, *, minutes: float, messages: int) -> dict[str, Any]:
    rates, disagreed = [], 0
    with Stack(folder) as stack:
        people.fill(stack, messages)
        watch = Watch(stack)
        ends = time.monotonic() + minutes * 60
        while time.monotonic() < ends:
            found = launch.measure(stack, meanwhile=watch.look)
            rates.append(found["overall_per_second"])
            disagreed += not found["witness_agrees"]
            print(f"  {len(rates)} runs, {rates[-1]:,.0f} messages/s", flush=True)
    held = growth(watch.samples)
    told: dict[str, Any] = {"minutes": minutes, "rates": rates, "disagreed": disagreed}
    told["processes"] = held
    return {**told, "text": text(told)}


class Watch:
    """Samples of the stack's processes, not more often than asked for."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._due = 0.0
        self.samples: Samples = defaultdict(list)

    def look(self) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + SAMPLE_EVERY
        for pid, holding in holdings(self._stack.launcher.pid).items():
            self.samples[pid].append((now, holding))


def growth(samples: Samples) -> list[dict[str, Any]]:
    """By process that was seen long enough: slope of its memory, and files and sockets."""
    grown = []
    for pid, seen in samples.items():
        settled = seen[int(len(seen) * WARM_UP_SHARE) :]
        if len(settled) < FEWEST:
            continue
        times = [at / 60 for at, _ in settled]
        slope, _ = statistics.linear_regression(times, [each.rss_mb for _, each in settled])
        first, last = settled[0][1], settled[-1][1]
        grown.append(
            {
                "kind": first.kind, "pid": pid, "minutes": times[-1] - times[0],
                "mb_per_minute": slope, "rss_mb": last.rss_mb,
                "files": (first.files, last.files, max(each.files for _, each in settled)),
                "sockets": (first.sockets, last.sockets, max(each.sockets for _, each in settled)),
            }
        )  # fmt: skip
    return sorted(grown, key=lambda each: (each["kind"], -each["mb_per_minute"]))


def text(found: dict[str, Any]) -> str:
    rates = found["rates"]
    lines = [
        f"{len(rates)} runs in {found['minutes']:.0f} minutes, {min(rates):,.0f} to"
        f" {max(rates):,.0f} messages/s, {found['disagreed']} disagreed with the witness",
        f"{'process':<12}{'seen min':>9}{'MB/min':>9}{'MB':>7}   files, sockets: first, last, most",
    ]
    for each in found["processes"]:
        files, sockets = (", ".join(map(str, each[name])) for name in ("files", "sockets"))
        lines.append(
            f"{each['kind']:<12}{each['minutes']:>9.1f}{each['mb_per_minute']:>9.2f}"
            f"{each['rss_mb']:>7.0f}   {files} · {sockets}"
        )
    return "\n".join(lines)
