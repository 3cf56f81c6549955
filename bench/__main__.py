"""The performance table: a whole stack of its own, its peers, the demo, a million people's pages.

Prints it and writes var/bench/results.json. Machines differ and are noisy: compare the ratios,
which come from rounds that ran in the same minutes.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import pages, rounds
from bench.stack import LATENCY_MS, Stack
from bench.table import table

FOLDER = Path("var/bench")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("Starting a stack of its own.", flush=True)
    with Stack(FOLDER / "state") as stack:
        found = rounds.measure(stack, FOLDER)
        print("Pages: a million people…", flush=True)
        shown = pages.measure(stack)
    results: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in ("aiohttp", "firebase-admin")},
        "latency_ms": LATENCY_MS,
        "senders": {name: rounds.summary(each) for name, each in found.items()},
        "rounds": found,
        "pages": shown,
    }
    (FOLDER / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    print("\n" + table(results))


if __name__ == "__main__":
    main()
