"""From Launch to finished: the demo campaign through the API, the workers and the emulator."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.processes import cpu_seconds, largest_mb
from bench.stack import Stack

CAMPAIGN = "Autumn run: everyone"
OF_ITS_OWN = {"id", "name", "schedule", "created_at", "updated_at"}


def measure(stack: Stack) -> dict[str, float]:
    campaign = _copy(stack)
    before = cpu_seconds(stack.launcher.pid)
    clicked = time.time()
    run = stack.api("POST", f"campaigns/{campaign['id']}/launch", {})
    while run["state"] not in ("finished", "paused"):
        time.sleep(0.5)
        run = stack.api("GET", f"runs/{run['id']}")
    used = cpu_seconds(stack.launcher.pid) - before
    time.sleep(1)  # the witness writes each 100 ms
    received = _witness(stack)
    totals, accepted = run["totals"], run["totals"]["accepted"]
    ended = datetime.fromisoformat(run["finished_at"]).timestamp()
    sending = received[-1] - received[0]
    product = used["workers"] + used["postgresql"] + used["valkey"]
    return {
        "planned": totals["planned"],
        "accepted": accepted,
        "refused": totals["rejected"],
        "seconds": ended - clicked,
        "first_request_seconds": received[0] - clicked,
        "per_second": _busiest(received),
        "sending_seconds": sending,
        "cpu_us": used["workers"] / accepted * 1e6,
        "product_cpu_us": product / accepted * 1e6,
        "emulator_cpu_us": used["emulator"] / accepted * 1e6,
        "largest_worker_mb": largest_mb(stack.launcher.pid, "workers"),
        "witness_agrees": float(len(received) == accepted and not totals["waiting"]),
    }


def _copy(stack: Stack) -> dict[str, Any]:
    """A campaign is launched once, so each round has one of its own."""
    campaigns = stack.api("GET", "campaigns")["results"]
    demo = next(each for each in campaigns if each["name"] == CAMPAIGN)
    kept = {name: value for name, value in demo.items() if name not in OF_ITS_OWN}
    return dict(stack.api("POST", "campaigns", {**kept, "name": f"{CAMPAIGN}, once more"}))


def _witness(stack: Stack) -> list[float]:
    lines = (Path(stack.env["FCM_CA_FILE"]).parent / "witness.jsonl").read_text().splitlines()
    return sorted(json.loads(line)["at"] for line in lines)


def _busiest(received: list[float]) -> float:
    """Messages a second over the middle 80 %: neither the start nor the last retries."""
    first, last = len(received) // 10, len(received) * 9 // 10
    return (last - first) / (received[last] - received[first])
