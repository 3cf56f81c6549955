"""Every sender in turn, three times over, so that a noisy minute disturbs all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench import launch, senders
from bench.processes import cpu_seconds
from bench.servers import Environment, emulator, front
from bench.stack import LATENCY_MS, Stack

ROUNDS = 3
# So many that each takes five seconds or so. The SDK takes many times as long for a message.
LOOP_MESSAGES = 20_000
THREADS_MESSAGES = 3_000
HTTP2_MESSAGES = 2_000
HTTP1_MESSAGES = 1_000
PROCESSES = 2
LOOPS = 2

Numbers = dict[str, float]


def measure(stack: Stack, folder: Path) -> dict[str, list[Numbers]]:
    """By sender, what each round found."""
    stack.emulator("/admin/settings", {"latency_ms": LATENCY_MS})
    with ExitStack() as servers:
        runners = _runners(stack, folder, servers)
        found: dict[str, list[Numbers]] = {name: [] for name in runners}
        for number in range(1, ROUNDS + 1):
            for name, run in runners.items():
                print(f"Round {number} of {ROUNDS}: {name}…", flush=True)
                stack.emulator("/admin/reset", {})
                found[name].append(run())
                found[name][-1]["ratio"] = _ratio(name, found)
    return found


def _runners(stack: Stack, folder: Path, servers: ExitStack) -> dict[str, Callable[[], Numbers]]:
    through_front = servers.enter_context(front(stack.env))
    pid, many = servers.enter_context(emulator(folder / "emulator", processes=PROCESSES))

    def stacks() -> float:
        return cpu_seconds(stack.launcher.pid)["emulator"]

    def manys() -> float:
        return cpu_seconds(pid)["emulator"]

    def loop(env: Environment, messages: int, cpu: senders.Cpu, at_once: int = 1) -> Numbers:
        return senders.measure(
            "bench.peer", str(messages), env=env, emulator_cpu=cpu, at_once=at_once
        )

    def sdk(way: str, env: Environment, messages: int) -> Numbers:
        return senders.measure("bench.firebase", way, str(messages), env=env, emulator_cpu=stacks)

    return {
        "bare": lambda: loop(stack.env, LOOP_MESSAGES, stacks),
        "sdk_threads": lambda: sdk("send_each", stack.env, THREADS_MESSAGES),
        "sdk_async_http2": lambda: sdk("send_each_async", through_front, HTTP2_MESSAGES),
        "sdk_async_http1": lambda: sdk("send_each_async", stack.env, HTTP1_MESSAGES),
        "carillon": lambda: launch.measure(stack),
        "emulator_1": lambda: loop(stack.env, LOOP_MESSAGES // LOOPS, stacks, LOOPS),
        "emulator_2": lambda: loop(many, LOOP_MESSAGES // LOOPS, manys, LOOPS),
    }


def _ratio(name: str, found: dict[str, list[Numbers]]) -> float:
    """To the bare loop of the same round, which met the same neighbours on this machine."""
    cost = "emulator_cpu_us" if name.startswith("emulator") else "cpu_us"
    return found[name][-1][cost] / found["bare"][-1]["cpu_us"]


def summary(found: list[Numbers]) -> Numbers:
    """The median round of each figure; a run that disagreed with the witness stays visible."""
    middle = {name: statistics.median(numbers[name] for numbers in found) for name in found[0]}
    if "witness_agrees" in middle:
        middle["witness_agrees"] = min(numbers["witness_agrees"] for numbers in found)
    return middle
