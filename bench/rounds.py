"""Every sender in turn, three times over, so that a noisy minute disturbs all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from bench import launch, people
from bench.senders import senders
from bench.stack import Stack

ROUNDS = 3
# By row: the module and its arguments, and how many messages all its processes send together. So
# many that each takes some seconds; the SDKs need far longer.
ROWS: dict[str, tuple[tuple[str, ...], int]] = {
    "bare": (("bench.senders.peer",), 24_000),
    "raw": (("bench.senders.raw",), 40_000),
    "rust_http1": (("bench.senders.over_rust", "http1"), 24_000),
    "rust_http2": (("bench.senders.over_rust", "http2"), 8_000),
    "gathered": (("bench.senders.gathered",), 12_000),
    "h2": (("bench.senders.over_h2",), 4_000),
    "sdk_threads": (("bench.senders.firebase", "send_each"), 2_000),
    "sdk_async_http2": (("bench.senders.firebase", "http2"), 1_000),
    "sdk_async_http1": (("bench.senders.firebase", "http1"), 1_000),
    "async_firebase_http1": (("bench.senders.healthjoy", "http1"), 1_000),
    "async_firebase_http2": (("bench.senders.healthjoy", "http2"), 1_000),
}
LEAST = 500  # of each process: a batch of the SDKs
PRODUCT = "carillon"

Numbers = dict[str, float]


def measure(stack: Stack, *, messages: int, rounds: int = ROUNDS) -> dict[str, list[Numbers]]:
    """By row, what each round found. As many processes send in every row."""
    people.fill(stack, messages)
    runners = _runners(stack)
    found: dict[str, list[Numbers]] = {name: [] for name in runners}
    for number in range(1, rounds + 1):
        for name, run in runners.items():
            print(f"Round {number} of {rounds}: {name}…", flush=True)
            stack.emulator("/admin/reset", {})
            found[name].append(run())
            found[name][-1] |= _ratios(found, name)
    return found


def _runners(stack: Stack) -> dict[str, Callable[[], Numbers]]:
    runners: dict[str, Callable[[], Numbers]] = {
        name: _sender(stack, row, messages) for name, (row, messages) in ROWS.items()
    }
    return runners | {PRODUCT: lambda: launch.measure(stack)}


def _sender(stack: Stack, row: tuple[str, ...], messages: int) -> Callable[[], Numbers]:
    def run() -> Numbers:
        return senders.measure(
            *row,
            str(max(LEAST, messages // stack.workers)),
            env=stack.env,
            emulator_cpu=stack.emulator_cpu,
            at_once=stack.workers,
        )

    return run


def _ratios(found: dict[str, list[Numbers]], name: str) -> Numbers:
    """To the bare loop of the same round, which met the same neighbours on this machine."""
    this, bare = found[name][-1], found["bare"][-1]
    return {
        "ratio": this["cpu_us"] / bare["cpu_us"],
        "share": this["per_second"] / bare["per_second"],
    }


def summary(found: list[Numbers]) -> Numbers:
    """The median round of each figure; a run that disagreed with the witness stays visible."""
    middle = {name: statistics.median(numbers[name] for numbers in found) for name in found[0]}
    if "witness_agrees" in middle:
        middle["witness_agrees"] = min(numbers["witness_agrees"] for numbers in found)
    return middle
