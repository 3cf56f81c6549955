"""A run by each reader's clock in which everybody still waits: how long until all of them sleep,
what each costs, what the machine does meanwhile, and how soon such a run is cancelled.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

from bench import people
from bench.planning.pages import Visitor
from bench.stack import Stack

PEOPLE = 1_000_000
FIRST_ZONE = "Pacific/Kiritimati"  # where a day begins; nobody of ours lives there
NIGHT_SECONDS = 30.0
ROWS = ("campaigns_retry", "campaigns_recipient", "campaigns_window", "campaigns_chunk")
SETTLING_SECONDS = 10.0


def measure(folder: Path, count: int) -> dict[str, Any]:
    with Stack(folder) as stack:
        people.fill(stack, count)
        found: dict[str, Any] = {"people": count, "idle_cpu": _night(stack)}
        run, fallen_asleep = _put_to_sleep(stack, count)
        found |= fallen_asleep
        found |= {"night_cpu": _night(stack), "pages": _pages(stack, run)}
        clicked = time.monotonic()
        stack.api("POST", f"runs/{run}/cancel", {})
        stack.until(f"runs/{run}", lambda seen: not seen["totals"]["waiting"])
        found["cancel_seconds"] = time.monotonic() - clicked
    return {**found, "text": text(found)}


def _put_to_sleep(stack: Stack, count: int) -> tuple[int, dict[str, Any]]:
    """The run, and what it took until everybody waits."""
    campaign = people.campaign(stack)
    stack.api("PATCH", f"campaigns/{campaign}", {"schedule": _soon()})
    small, before = _bytes(stack), stack.cpu()
    run = int(stack.api("POST", f"campaigns/{campaign}/launch", {})["id"])
    stack.until(f"runs/{run}", lambda seen: seen["state"] == "sending")
    began = time.monotonic()
    stack.until(f"runs/{run}", lambda seen: _asleep(seen) == count)
    seconds, used, grown = time.monotonic() - began, stack.cpu() - before, _bytes(stack)
    return run, {
        "asleep_seconds": seconds,
        "cpu_us": used.total() / count * 1e6,
        "bytes": {name: (grown[name] - small[name]) / count for name in ROWS},
    }


def _soon() -> dict[str, Any]:
    """The next minute of the first zone on earth; hours away in those of our people."""
    wall = datetime.now(ZoneInfo(FIRST_ZONE)) + timedelta(minutes=1)
    at = f"{wall:%Y-%m-%dT%H:%M}"
    return {"kind": "at", "at": at, "timezone": FIRST_ZONE, "local_time": True}


def _asleep(run: dict[str, Any]) -> int:
    return int(run["sleeping"]["count"] if run["sleeping"] else 0)


def _night(stack: Stack) -> float:
    """Cores that the whole product uses while nothing is to be sent."""
    time.sleep(SETTLING_SECONDS)  # what is under way comes to its end
    before, began = stack.cpu(), time.monotonic()
    time.sleep(NIGHT_SECONDS)
    return (stack.cpu() - before).total() / (time.monotonic() - began)


def _pages(stack: Stack, run: int) -> dict[str, float]:
    visitor = Visitor(stack)
    paths = {
        "the run": f"/admin/campaigns/run/{run}/change/",
        "its recipients": f"/admin/campaigns/run/{run}/deliveries/",
        "overview": "/admin/",
        "quota": "/admin/quota/",
        "calendar": "/admin/campaigns/campaign/calendar/",
    }
    return {name: visitor.median(path) for name, path in paths.items()}


def _bytes(stack: Stack) -> dict[str, float]:
    """With the partitions and indexes of each."""
    ask = (
        "SELECT pg_total_relation_size(%(name)s) + COALESCE((SELECT sum(pg_total_relation_size("
        "inhrelid)) FROM pg_inherits WHERE inhparent = %(name)s::regclass), 0)"
    )
    with psycopg.connect(stack.superusers_url(), autocommit=True) as connection:
        sizes = {name: connection.execute(ask, {"name": name}).fetchone() for name in ROWS}
    return {name: float(size[0] or 0) if size else 0.0 for name, size in sizes.items()}


def text(found: dict[str, Any]) -> str:
    there = f"{found['people']:,}"
    rows = [
        (f"Until all {there} sleep", f"{found['asleep_seconds']:.1f} s"),
        ("CPU for each of them", f"{found['cpu_us']:.0f} µs"),
        *((f"Bytes of each in {name}", f"{size:.0f}") for name, size in found["bytes"].items()),
        ("Cores used before there was a run", f"{found['idle_cpu']:.3f}"),
        ("Cores used while all sleep", f"{found['night_cpu']:.3f}"),
        *((f"Page {name}", f"{seconds:.2f} s") for name, seconds in found["pages"].items()),
        ("Cancelled: until nobody waits", f"{found['cancel_seconds']:.1f} s"),
    ]
    return "\n".join(f"{name:<52}{value:>12}" for name, value in rows)
