"""(f) The product, from Launch to finished: through the API, the workers and the emulator."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bench import people
from bench.processes import largest_mb
from bench.stack import Stack

GROUPS = ("workers", "postgresql", "valkey", "emulator")
LOOK_EVERY = 0.5  # each look costs the web server 10 ms, in the column of the others


def measure(
    stack: Stack,
    *,
    meanwhile: Callable[[], object] = lambda: None,
    arrived: Callable[[Stack, int], list[float]] | None = None,
) -> dict[str, float]:
    """One run to whoever is there. `meanwhile` is called at each look; whoever plays FCM says
    when each message `arrived`, the emulator unless told otherwise.
    """
    campaign = people.campaign(stack)
    stack.emulator("/admin/reset", {})
    before = stack.cpu()
    clicked = time.time()
    run = stack.api("POST", f"campaigns/{campaign}/launch", {})
    while run["state"] not in ("finished", "paused"):
        meanwhile()
        time.sleep(LOOK_EVERY)
        run = stack.api("GET", f"runs/{run['id']}")
    used = stack.cpu() - before
    time.sleep(1)  # the witness writes each 100 ms
    received = (arrived or arrivals)(stack, run["id"])
    return {**story(run, clicked, received), **_costs(used, run["totals"]["accepted"])} | {
        "peak_mb": largest_mb(stack.launcher.pid, "workers")
    }


def story(run: dict[str, Any], clicked: float, received: list[float]) -> dict[str, float]:
    """What the rows say of a run, beside when its requests were received."""
    totals = run["totals"]
    if run["state"] != "finished":
        raise SystemExit(f"The run paused: {run}")
    seconds = datetime.fromisoformat(run["finished_at"]).timestamp() - clicked
    agrees = len(received) == totals["accepted"] and not totals["waiting"]
    return {
        "planned": totals["planned"],
        "accepted": totals["accepted"],
        "refused": totals["planned"] - totals["accepted"],
        "received": len(received),
        "seconds": seconds,
        "first_request_seconds": received[0] - clicked,
        "overall_per_second": totals["accepted"] / seconds,
        "per_second": busiest(received),
        "witness_agrees": float(agrees),
    }


def _costs(used: Mapping[str, float], accepted: int) -> dict[str, float]:
    by_group = {f"{group}_us": used[group] / accepted * 1e6 for group in GROUPS}
    everything = sum(used.values()) / accepted * 1e6
    by_group["other_us"] = everything - sum(by_group.values())  # web, beat, Flower, launcher
    own = everything - by_group["emulator_us"]
    return {
        **by_group,
        "cpu_us": by_group["workers_us"],
        "emulator_cpu_us": by_group["emulator_us"],
        "product_cpu_us": own,
    }


def arrivals(stack: Stack, run: int | str = "") -> list[float]:
    """When each message, or each of a run, was accepted, as the emulator wrote it down."""
    ours = f"{run}:" if run else ""
    with stack.witness().open() as lines:
        records = map(json.loads, lines)
        return sorted(each["at"] for each in records if str(each["id"]).startswith(ours))


def busiest(received: list[float]) -> float:
    """Messages a second over the middle 80 %: neither the start nor the last retries."""
    first, last = len(received) // 10, len(received) * 9 // 10
    return (last - first) / (received[last] - received[first])
