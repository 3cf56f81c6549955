"""Planning at scale: freezing an audience of millions, dropping an old run, estimating, and pages.

A run that only plans never becomes visible to the workers: it is frozen and paused in one
transaction, in a process of its own (bench/planning/snapshot.py).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench import people
from bench.planning import pages
from bench.stack import Stack

PEOPLE = 1_000_000
MOST = 5_000_000
# What marketers ask, from a plain column to three attributes at once.
RULES: list[dict[str, Any]] = [
    {"all": []},
    {"field": "locale", "op": "in", "value": ["ko"]},
    {"field": "platform", "op": "in", "value": ["android"]},
    {"field": "attributes.plan", "op": "in", "value": ["pro", "plus"]},
    {"field": "attributes.points", "op": "gte", "value": 4000},
    {
        "all": [
            {"field": "attributes.city", "op": "eq", "value": "Seoul"},
            {"field": "attributes.age", "op": "lt", "value": 30},
            {"not": {"field": "attributes.plan", "op": "eq", "value": "free"}},
        ]
    },
]
TIMES = 10


def measure(folder: Path, most: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with Stack(folder) as stack:
        for count in sorted({min(PEOPLE, most), most}):
            print(f"  {count:,} people…", flush=True)
            people.fill(stack, count)
            if count == min(PEOPLE, most):
                found |= _of_a_million(stack, count)
            print(f"  Freezing {count:,}…", flush=True)
            found[f"snapshot_{count}"] = _snapshot(stack)
    return {**found, "text": text(found)}


def _of_a_million(stack: Stack, count: int) -> dict[str, Any]:
    return {
        "people": count,
        "first_request_seconds": _first_request(stack),
        "estimate_seconds": _estimates(stack),
        "pages": pages.measure(stack),
    }


def _snapshot(stack: Stack) -> dict[str, float]:
    told = stack.run(sys.executable, "-m", "bench.planning.snapshot", str(people.campaign(stack)))
    return dict(json.loads(told))


def _first_request(stack: Stack) -> float:
    """From the click until the first of so many messages arrives; then the run is paused."""
    campaign = people.campaign(stack)
    stack.emulator("/admin/reset", {})
    clicked = time.time()
    run = stack.api("POST", f"campaigns/{campaign}/launch", {})
    while not stack.witness().exists() or not stack.witness().stat().st_size:
        if time.time() > clicked + 120:
            raise SystemExit("No message left within two minutes.")
        time.sleep(0.1)
    with stack.witness().open() as lines:
        first = float(json.loads(lines.readline())["at"])
    stack.api("POST", f"runs/{run['id']}/pause", {})
    time.sleep(3)  # what is under way comes to its end
    return first - clicked


def _estimates(stack: Stack) -> dict[str, float]:
    times = []
    for _ in range(TIMES):
        for rules in RULES:
            started = time.monotonic()
            stack.api("POST", "audiences/estimate", {"rules": rules})
            times.append(time.monotonic() - started)
    return {"median": statistics.median(times), "p95": statistics.quantiles(times, n=20)[-1]}


def text(found: dict[str, Any]) -> str:
    people_there = f"{found['people']:,}"
    estimate = found["estimate_seconds"]
    rows = [
        (f"Launch to first request, {people_there}", found["first_request_seconds"], "under 2 s"),
        (f"Estimate over {people_there}, median", estimate["median"], ""),
        (f"Estimate over {people_there}, p95", estimate["p95"], "under 0.3 s"),
    ]
    for name, numbers in found.items():
        if name.startswith("snapshot_"):
            planned = f"{numbers['planned']:,}"
            rows += [
                (f"Freezing {planned} recipients", numbers["prepare_seconds"], "5,000,000: 40 s"),
                (f"Counting {planned} exactly", numbers["exact_seconds"], "1,000,000: 3 s"),
                ("Reading who had it", numbers["read_seconds"], ""),
                ("Freezing for those who have not", numbers["again_seconds"], ""),
                ("Dropping that run's partitions", numbers["drop_seconds"], "under 1 s"),
            ]
    rows += [
        (f"Page {name}, {people_there}", seconds, "under 0.5 s")
        for name, seconds in found["pages"].items()
    ]
    return "\n".join(f"{name:<52}{seconds:>9.2f} s   {aim}" for name, seconds, aim in rows)
