"""The plan of a run to a million people: seconds, and the memory of a process that does just that.

Three runs: as fast as the project may; by each reader's clock, around quiet hours and caps; and at
a slow rate for a day and a night, in which everybody is asked again and again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from datetime import datetime, timedelta
from datetime import time as clock
from pathlib import Path
from typing import Any

from campaigns.forecast.solver.capacity import Capacity
from campaigns.forecast.solver.rules import Caps, People, PersonKind, Rules
from campaigns.forecast.solver.solving import solve
from campaigns.runs import local_time
from campaigns.runs.local_time import NEXT_DAY, LocalTime
from notifications.people.consent.hours import QuietHours
from notifications.values.zones import selectable_zones

PEOPLE = 1_000_000
MAX_SECONDS, MAX_MB = 5.0, 300.0
WALL = datetime.fromisoformat("2026-12-01T07:00")
START = local_time.first(WALL)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RUNG = ((), (3,), (3, 30), (1, 5, 50), (2, 20, 40, 60, 90))  # so many hours before
NIGHT = QuietHours(clock(21), clock(8), "Asia/Seoul")
AROUND = LocalTime(WALL, START, "Asia/Seoul", NEXT_DAY, timedelta(minutes=15))
CAPS = Caps(per_day=2, per_week=5, gap=2 * HOUR)
FAST = Capacity(full=8_000, cold=400, climb=8_000 / 60)
RUNS = {
    "at once": (Rules(START, DAY), FAST),
    "by each reader's clock": (Rules(START, DAY, AROUND, NIGHT, CAPS), FAST),
    "slowly, day and night": (Rules(START, 3 * DAY, None, NIGHT, CAPS), Capacity(8_000, most=10)),
}


def measure(_folder: Path, count: int = PEOPLE) -> dict[str, Any]:
    found = {name: _alone(name, min(count, PEOPLE)) for name in RUNS}
    return {"runs": found, "text": text(found)}


def _alone(name: str, count: int) -> dict[str, Any]:
    """In a process of its own, whose memory is nothing else's."""
    command = [sys.executable, "-m", "bench.planning.solver", name, str(count)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(told))


def main(name: str, count: int) -> None:
    rules, capacity = RUNS[name]
    people = People.mixed(kinds(count))
    began = time.monotonic()
    plan = solve(people, rules, capacity)
    told = {"sent": plan.sent, "skipped": plan.skipped, "minutes": len(plan.curve(HOUR / 60))}
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"people": count, "seconds": seconds, "peak_mb": peak, **told}))


def kinds(count: int) -> list[tuple[PersonKind, int]]:
    """Of every zone on earth, with each past."""
    pasts = [tuple(START - hours * HOUR for hours in past) for past in RUNG]
    kinds = [PersonKind(zone, past) for zone in selectable_zones() for past in pasts]
    each, more = divmod(count, len(kinds))
    return [(kind, each + (n < more)) for n, kind in enumerate(kinds)]


def text(found: dict[str, Any]) -> str:
    lines = []
    for name, run in found.items():
        skipped = ", ".join(f"{count:,} {why}" for why, count in run["skipped"].items()) or "nobody"
        lines.append(
            f"Plan of {run['people']:,} {name:<24}{run['seconds']:>6.2f} s (at most"
            f" {MAX_SECONDS:.0f}), {run['peak_mb']:>4.0f} MB (at most {MAX_MB:.0f}):"
            f" {run['sent']:,} sent in {run['minutes']:,} min; skipped: {skipped}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
