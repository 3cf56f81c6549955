"""`--only forecast`: how long a forecast over a million people takes.

As the review and the check ask for it, from counts of everybody and from a sample of them; and the
plan alone, of 200,000 who stand for all, and of each of the million. In turns with a bare loop that
gives a million people one instant after another: the machine has neighbours.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from bench import people
from bench.stack import Stack

PEOPLE = 1_000_000
PEER = "a bare loop"
# Seconds; the others are held to none.
MAX_SECONDS = {
    "the forecast, from a sample": 1.0,
    "the forecast, from counts of all": 8.0,
    "its plan, of 200,000": 1.0,
    "a plan of everybody": 8.0,
}


def measure(folder: Path, count: int) -> dict[str, Any]:
    count = min(count, PEOPLE)
    with Stack(folder) as stack:
        print(f"  {count:,} people, and a run to all of them…", flush=True)
        people.fill(stack, count)
        ended = stack.run(sys.executable, "-m", "bench.planning.ended", str(people.campaign(stack)))
        asked = (str(people.campaign(stack)), str(json.loads(ended)["run"]))
        print("  Forecasts in turn…", flush=True)
        told = stack.run(sys.executable, "-m", "bench.planning.forecasts", *asked)
    found: dict[str, list[float]] = json.loads(told)
    return {"people": count, "rounds": found, "text": text(count, found)}


def text(count: int, found: dict[str, list[float]]) -> str:
    lines = [f"Of {count:,} people, the median of {len(found[PEER])} rounds (and all of them):"]
    for name, times in found.items():
        ratios = (one / bare for one, bare in zip(times, found[PEER], strict=True))
        aim = f"at most {MAX_SECONDS[name]:.0f} s" if name in MAX_SECONDS else ""
        lines.append(
            f"{name:<36}{statistics.median(times):>6.2f} s ({min(times):.2f}–{max(times):.2f}),"
            f"{statistics.median(ratios):>6.1f} times {PEER}   {aim}"
        )
    return "\n".join(lines)
