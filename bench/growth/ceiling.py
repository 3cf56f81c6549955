"""The ceiling: how many messages the product sends when nothing but itself holds it up.

Fixed bytes in the emulator's place, and a quota that our gate never reaches. The rows say what was
accepted, the answerer how many requests came; it knows nothing of the rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from bench import launch, people
from bench.rounds import summary
from bench.servers import Fcm, emulator, p99_of, serving
from bench.stack import Stack
from bench.table import row, rule

MESSAGES = 100_000
QUOTA = 1_200_000  # a minute; our gate takes 80 % of it, 16,000 a second
WANTED = 9_000
WIDTH = 10
FIGURES = {
    "messages/s": "per_second", "whole/s": "overall_per_second", "workers µs": "workers_us",
    "PostgreSQL": "postgresql_us", "Valkey": "valkey_us", "others": "other_us",
    "sum µs": "product_cpu_us", "answerer": "emulator_us", "peak MB": "peak_mb",
    "rows": "accepted", "requests": "received",
}  # fmt: skip


def measure(folder: Path, messages: int, *, rounds: int, latency_ms: float) -> dict[str, Any]:
    with (
        answerer(folder / "answerer", latency_ms=latency_ms) as fcm,
        Stack(folder, fcm=fcm) as stack,
    ):
        people.fill(stack, messages)
        _raise_quota(stack)
        found = []
        for number in range(1, rounds + 1):
            print(f"  round {number} of {rounds}…", flush=True)
            found.append(launch.measure(stack, arrived=_arrivals))
    return {"rounds": found, "text": text(found)}


@contextmanager
def answerer(folder: Path, *, latency_ms: float) -> Iterator[Fcm]:
    """The emulator behind it hands out the tokens, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    late = ("--latency-ms", str(latency_ms), "--latency-p99-ms", str(p99_of(latency_ms)))
    with (
        emulator(folder, processes=1) as (_, env),
        serving("bench.growth.answerer", "--dir", str(folder), *late) as (pid, address),
    ):
        yield pid, {**env, "FCM_ENDPOINT": address}


def _raise_quota(stack: Stack) -> None:
    with psycopg.connect(stack.superusers_url(), autocommit=True) as connection:
        connection.execute("UPDATE notifications_project SET quota_per_minute = %s", [QUOTA])


def _arrivals(stack: Stack, _run: int) -> list[float]:
    """All there are: they were forgotten just before the run."""
    return list(stack.emulator("/admin/arrivals"))


def text(found: list[dict[str, float]]) -> str:
    head = (*FIGURES, "agree")
    lines = [row("Carillon to an answerer of fixed bytes", head, WIDTH), rule(head)]
    for number, each in enumerate(found, 1):
        lines.append(row(f"round {number}: {each['planned']:,.0f} recipients", _cells(each), WIDTH))
    middle = summary(found)
    lines.append(row("median", _cells(middle), WIDTH))
    rate, cost = middle["per_second"], middle["product_cpu_us"]
    return "\n".join(
        [
            *lines,
            "",
            f"{rate:,.0f} messages/s steady, {WANTED:,} wanted; {cost:.0f} µs of CPU a message "
            f"without the answerer; rows and requests agree: {_agreement(middle)}",
        ]
    )


def _cells(numbers: dict[str, float]) -> tuple[str, ...]:
    return (*(f"{numbers[name]:,.0f}" for name in FIGURES.values()), _agreement(numbers))


def _agreement(numbers: dict[str, float]) -> str:
    return "yes" if numbers["witness_agrees"] else "NO"
