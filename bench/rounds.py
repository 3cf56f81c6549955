"""Every sender in turn, three times over, so that a noisy minute disturbs all of them alike.

Each round takes them in the other order, so that it matters less who comes after whom.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

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
# By row of the product, what its requests travel over.
TRANSPORTS = {PRODUCT: "wire", "carillon_aiohttp": "aiohttp"}

Numbers = dict[str, float]
Run = Callable[[], Numbers]


def measure(stack: Stack, *, messages: int, rounds: int = ROUNDS) -> dict[str, list[Numbers]]:
    """By row, what each round found. As many processes send in every row."""
    with ExitStack() as started:
        stacks = {PRODUCT: stack}
        for name in products(rounds)[1:]:
            print(f"Starting {name} beside it…", flush=True)
            stacks[name] = started.enter_context(stack.beside(TRANSPORTS[name]))
        for each in stacks.values():
            people.fill(each, messages)
        return in_turn(_runners(stack, stacks), rounds)


def products(rounds: int) -> list[str]:
    """Transports are compared where senders are: a single round is a look at the product."""
    return list(TRANSPORTS) if rounds > 1 else [PRODUCT]


def in_turn(runners: dict[str, Run], rounds: int) -> dict[str, list[Numbers]]:
    found: dict[str, list[Numbers]] = {name: [] for name in runners}
    turns = list(runners)
    for number in range(1, rounds + 1):
        for name in turns:
            print(f"Round {number} of {rounds}: {name}…", flush=True)
            found[name].append(runners[name]())
        for each in found.values():
            each[-1] |= _ratios(each[-1], found["bare"][-1])
        turns.reverse()
    return found


def _runners(stack: Stack, stacks: dict[str, Stack]) -> dict[str, Run]:
    runners: dict[str, Run] = {
        name: _sender(stack, row, messages) for name, (row, messages) in ROWS.items()
    }
    return runners | {name: partial(launch.measure, each) for name, each in stacks.items()}


def _sender(stack: Stack, row: tuple[str, ...], messages: int) -> Run:
    def run() -> Numbers:
        stack.emulator("/admin/reset", {})
        return senders.measure(
            *row,
            str(max(LEAST, messages // stack.workers)),
            env=stack.env,
            emulator_cpu=stack.emulator_cpu,
            at_once=stack.workers,
        )

    return run


def _ratios(this: Numbers, bare: Numbers) -> Numbers:
    """To the bare loop of the same round, which met the same neighbours on this machine."""
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
