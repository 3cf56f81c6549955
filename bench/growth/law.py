"""The scale law: 1, 2 and 4 worker processes, from ten thousand recipients upwards.

Two for each core, as `make run` has it, is where it ends; each beside as many bare loops.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import launch, people
from bench.senders import senders
from bench.stack import Stack

WORKERS = (1, 2, 4)
SIZES = (10_000, 50_000, 100_000, 400_000, 1_000_000, 4_000_000)
MESSAGES = 100_000
LOOP_MESSAGES = 24_000
# How far fewer processes are followed; only as many as `make run` has go to the end.
SIDES = 100_000


def measure(folder: Path, most: int, *, latency_ms: float) -> dict[str, Any]:
    rows = [row for workers in WORKERS for row in _with(folder, workers, most, latency_ms)]
    return {"rows": rows, "text": text(rows)}


def _with(folder: Path, workers: int, most: int, latency_ms: float) -> list[dict[str, float]]:
    rows = []
    with Stack(folder, workers=workers, latency_ms=latency_ms) as stack:
        bare = senders.measure(
            "bench.senders.peer",
            str(LOOP_MESSAGES // workers),
            env=stack.env,
            emulator_cpu=stack.emulator_cpu,
            at_once=workers,
        )
        limit = most if workers == 4 else min(most, SIDES)
        for size in (each for each in SIZES if each <= limit):
            print(f"  {workers} workers, {size:,} recipients…", flush=True)
            people.fill(stack, size)
            found = launch.measure(stack)
            share = found["per_second"] / bare["per_second"]
            rows.append({"workers": workers, "recipients": size, "share": share, **found})
    return rows


def text(rows: list[dict[str, float]]) -> str:
    columns = (
        "workers", "recipients", "seconds", "whole/s", "steady/s", "of (a)", "CPU µs", "first s",
        "peak MB", "witness",
    )  # fmt: skip
    lines = [_line(columns), "|" + " ---: |" * len(columns)]
    for row in rows:
        cells = (
            f"{row['workers']:.0f}", f"{row['recipients']:,.0f}", f"{row['seconds']:.1f}",
            f"{row['overall_per_second']:,.0f}", f"{row['per_second']:,.0f}",
            f"{row['share']:.2f}", f"{row['product_cpu_us']:.0f}",
            f"{row['first_request_seconds']:.2f}", f"{row['peak_mb']:.0f}",
            "yes" if row["witness_agrees"] else "NO",
        )  # fmt: skip
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(f"{cell:>10}" for cell in cells) + " |"
