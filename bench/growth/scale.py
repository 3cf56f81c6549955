"""How it grows: with workers and recipients, with the people to plan for, with visitors, with time.

Longer than the table, so each part can be asked for alone: `make bench BENCH="--only people"`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.growth import awake, caps, ceiling, law, people_figures, soak, statements
from bench.live import feed, load, receipts
from bench.messages import cost, messages, seeds
from bench.planning import forecast, planning, result, sleeping, solver, texts

Part = Callable[[Path, Namespace], dict[str, Any]]
PARTS: dict[str, Part] = {
    "law": lambda folder, wanted: law.measure(
        folder, wanted.messages or law.MESSAGES, latency_ms=wanted.latency_ms
    ),
    "ceiling": lambda folder, wanted: ceiling.measure(
        folder,
        wanted.messages or ceiling.MESSAGES,
        rounds=wanted.rounds,
        latency_ms=wanted.latency_ms,
    ),
    "planning": lambda folder, wanted: planning.measure(folder, wanted.people),
    "solver": lambda folder, wanted: solver.measure(folder, wanted.people),
    "forecast": lambda folder, wanted: forecast.measure(folder, wanted.people),
    "sleeping": lambda folder, wanted: sleeping.measure(folder, wanted.messages or sleeping.PEOPLE),
    "lint": lambda folder, wanted: texts.measure(folder, wanted.people),
    "people": lambda folder, wanted: people_figures.measure(folder, wanted.people),
    "awake": lambda folder, wanted: awake.measure(folder, wanted.messages or awake.MESSAGES),
    "messages": lambda folder, wanted: messages.measure(
        folder, wanted.messages or messages.CAMPAIGN
    ),
    "cost": lambda folder, wanted: cost.measure(folder),
    "seeds": lambda folder, wanted: seeds.measure(folder),
    "statements": lambda folder, wanted: statements.measure(
        folder, wanted.messages or statements.MESSAGES
    ),
    "caps": lambda folder, wanted: caps.measure(folder, wanted.messages or caps.MESSAGES),
    "feed": lambda folder, wanted: feed.measure(folder),
    "receipts": lambda folder, wanted: receipts.measure(folder, wanted.messages or receipts.PEOPLE),
    "load": lambda folder, wanted: load.measure(folder, wanted.messages or load.PEOPLE),
    "result": lambda folder, wanted: result.measure(folder, wanted.people),
    "soak": lambda folder, wanted: soak.measure(
        folder, minutes=wanted.minutes, messages=wanted.messages or soak.MESSAGES
    ),
}


def measure(folder: Path, wanted: Namespace) -> dict[str, Any]:
    """By part: its numbers, and under `text` what a person reads."""
    found = {}
    for name in wanted.only:
        print(f"Scale: {name}…", flush=True)
        found[name] = PARTS[name](folder, wanted)
    return found
