"""A text check over so many people: alone, and beside a run that goes to all of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from bench import people
from bench.stack import Stack

PEOPLE = 1_000_000
ALONE, BESIDE = 30, 90  # seconds, of a million
LOOK_EVERY = 0.5
MAX_SECONDS = 1_800


def measure(folder: Path, most: int) -> dict[str, Any]:
    count = min(most, PEOPLE)
    with Stack(folder) as stack:
        print(f"  {count:,} people…", flush=True)
        people.fill(stack, count)
        print("  Alone…", flush=True)
        before = stack.cpu()
        alone = _checked(stack)
        used = stack.cpu() - before
        print("  Beside a run…", flush=True)
        run = stack.api("POST", f"campaigns/{people.campaign(stack)}/launch", {})
        sends = f"runs/{run['id']}"
        stack.until(sends, lambda seen: seen["totals"]["accepted"] > 0)
        beside = _checked(stack)
        meanwhile = stack.api("GET", sends)
        ended = stack.until(sends, lambda seen: seen["state"] in ("finished", "paused"))
    found = {
        "people": count,
        "alone_seconds": alone["seconds"],
        "alone_cpu_seconds": float(used["workers"] + used["postgresql"]),
        "beside_seconds": beside["seconds"],
        "sending_all_the_while": meanwhile["state"] == "sending",
        "run": {"state": ended["state"], "totals": ended["totals"]},
        "totals": alone["report"]["totals"],
        "agree": alone["report"]["totals"] == beside["report"]["totals"],
    }
    return {**found, "text": text(found)}


def _checked(stack: Stack) -> dict[str, Any]:
    """From the call that asks for it until the report is there."""
    place = f"campaigns/{people.campaign(stack)}/text-check"
    began = time.monotonic()
    stack.api("POST", place, {"same_text_within_days": 30})
    told = stack.until(place, lambda seen: seen["state"] in ("finished", "failed"))
    seconds = time.monotonic() - began
    if told["state"] != "finished":
        raise SystemExit(f"The check did not come to its end: {told}")
    return {"seconds": seconds, "report": told["report"]}


def text(found: dict[str, Any]) -> str:
    there = f"{found['people']:,}"
    beside = "sending all the while" if found["sending_all_the_while"] else "which ended before"
    rows = [
        (f"Text check of {there}, alone", found["alone_seconds"], f"1,000,000: {ALONE} s"),
        ("CPU of workers and PostgreSQL for it", found["alone_cpu_seconds"], ""),
        (f"… beside a run, {beside}", found["beside_seconds"], f"1,000,000: {BESIDE} s"),
    ]
    lines = [f"{name:<52}{seconds:>9.1f} s   {aim}" for name, seconds, aim in rows]
    ended = found["run"]
    lines.append(f"The run beside it: {ended['state']}, {ended['totals']['accepted']:,} accepted")
    if not found["agree"]:
        lines.append("The two reports do not agree.")
    return "\n".join(lines)
