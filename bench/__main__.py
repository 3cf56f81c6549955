"""The performance table: a whole stack of its own, the demo campaign, a million people's pages.

Prints one table and writes var/bench/results.json. Machines differ and are noisy: compare the
ratios, and the rows that ran in the same minute.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import launch, pages, peer
from bench.stack import Stack

FOLDER = Path("var/bench")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Stack(FOLDER / "state") as stack:
        print("Peer: a bare loop of aiohttp against the same emulator…", flush=True)
        bare = peer.measure(stack)
        print("Carillon: the demo campaign, from Launch to finished…", flush=True)
        launched = launch.measure(stack)
        print("Pages: a million people…", flush=True)
        shown = pages.measure(stack)
    results: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "peer": bare,
        "launch": launched,
        "pages": shown,
    }
    (FOLDER / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    print("\n" + table(results))


def table(results: dict[str, Any]) -> str:
    bare, launched, shown = results["peer"], results["launch"], results["pages"]
    cpu = launched["worker_cpu_us"]
    rows = [
        ("Launch to finished", f"{launched['seconds']:.1f} s", "under 20 s"),
        ("Recipients", f"{launched['planned']:,.0f}", ""),
        ("Launch to first request", f"{launched['first_request_seconds']:.2f} s", "under 2 s"),
        ("While sending", f"{launched['per_second']:,.0f} messages/s", ""),
        ("Bare aiohttp loop, one process", f"{bare['per_second']:,.0f} messages/s", "peer"),
        ("Worker CPU a message", f"{cpu:.0f} µs", f"{cpu / bare['cpu_us']:.1f} × the bare loop's"),
        ("… with PostgreSQL and Valkey", f"{launched['product_cpu_us']:.0f} µs", "budget 200 µs"),
        ("Emulator CPU a message", f"{launched['emulator_cpu_us']:.0f} µs", ""),
        ("Largest worker process", f"{launched['largest_worker_mb']:.0f} MB", "under 250 MB"),
        ("Witness agrees with the totals", "yes" if launched["witness_agrees"] else "NO", "yes"),
    ]
    rows += [
        (f"Page {name}, 1,000,000 people", f"{seconds * 1000:.0f} ms", "under 500 ms")
        for name, seconds in shown.items()
    ]
    return "\n".join(f"{name:<46} {value:>18}   {aim}" for name, value, aim in rows)


if __name__ == "__main__":
    main()
