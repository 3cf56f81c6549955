"""The pages of a run to millions, as soon as phones have told of it; median of five."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bench import people
from bench.planning.pages import Visitor
from bench.stack import Stack

PEOPLE = 5_000_000
MAX_SECONDS = {"the result": 0.3, "why a person got it": 2.0, "why a person did not": 2.0}


def measure(folder: Path, count: int = PEOPLE) -> dict[str, Any]:
    with Stack(folder) as stack:
        print(f"  {count:,} people…", flush=True)
        people.fill(stack, count)
        print("  A run to all of them…", flush=True)
        campaign = str(people.campaign(stack))
        ended = json.loads(stack.run(sys.executable, "-m", "bench.planning.ended", campaign))
        found = {**ended, "pages": _pages(stack, ended["run"], count)}
    return {**found, "text": text(found)}


def _pages(stack: Stack, run: int, count: int) -> dict[str, float]:
    visitor = Visitor(stack)
    page = f"/admin/campaigns/run/{run}"
    return {
        "the result": visitor.median(f"{page}/change/"),
        "  its part that comes back for receipts": visitor.median(f"{page}/echo/"),
        "recipients": visitor.median(f"{page}/deliveries/"),
        "why a person got it": visitor.median(f"{page}/why/?person=b{count // 2}"),
        "why a person did not": visitor.median(f"{page}/why/?person=nobody"),
        "the overview": visitor.median("/admin/"),
    }


def text(found: dict[str, Any]) -> str:
    planned = f"{found['planned']:,}"
    rows = [
        (f"Page of {name}, {planned}", seconds, _aim(name))
        for name, seconds in found["pages"].items()
    ]
    rows += [
        ("Counting it by group, in steps", found["count_seconds"], ""),
        ("Counting its receipts again, nightly", found["recount_seconds"], ""),
    ]
    lines = [f"{name:<64}{seconds:>9.2f} s   {aim}" for name, seconds, aim in rows]
    return "\n".join([*lines, f"Sums that differ after it: {found['wrong_after_it']}"])


def _aim(name: str) -> str:
    return f"{MAX_SECONDS[name]:.1f} s or less" if name in MAX_SECONDS else ""
