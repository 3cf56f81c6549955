"""The performance table: the product beside its peers, on a whole stack of its own.

Prints it and writes var/bench/results.json. Machines differ and are noisy: compare the ratios,
which come from rounds that ran in the same minutes.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import machine, rounds
from bench.growth import scale
from bench.planning import planning
from bench.servers import LATENCY_MS, LATENCY_P99_MS
from bench.stack import Stack
from bench.table import table

FOLDER = Path("var/bench")
MESSAGES = 25_000


def main() -> None:
    wanted = _arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine.described(),
        "load_before": machine.load(),
        "latency_ms": {"median": LATENCY_MS, "p99": LATENCY_P99_MS},
    }
    print("\n".join(f"{name}: {value}" for name, value in results.items()), flush=True)
    if wanted.what == "scale":
        found = scale.measure(FOLDER, wanted)
        text = "\n\n".join(part["text"] for part in found.values())
    else:
        found = _compared(wanted)
        text = table(found)
    results |= found
    name = "scale.json" if wanted.what == "scale" else "results.json"
    (FOLDER / name).write_text(json.dumps(results, indent=2) + "\n")
    print("\n" + text)


def _compared(wanted: argparse.Namespace) -> dict[str, Any]:
    with Stack(FOLDER, transport=rounds.TRANSPORTS[rounds.PRODUCT]) as stack:
        found = rounds.measure(stack, messages=wanted.messages or MESSAGES, rounds=wanted.rounds)
    return {
        "processes": stack.workers,
        "senders": {name: rounds.summary(each) for name, each in found.items()},
        "rounds": found,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    add("what", nargs="?", choices=("table", "scale"), default="table")
    add("--messages", type=int, help=f"recipients of the product's run; default {MESSAGES}")
    add("--rounds", type=int, default=rounds.ROUNDS, help="interleaved repetitions; of ceiling too")
    add("--only", nargs="+", choices=scale.PARTS, help="parts of the scale suite, which it implies")
    add("--latency-ms", type=float, default=LATENCY_MS, help="of the answers, in law and ceiling")
    add(
        "--people",
        type=int,
        default=planning.MOST,
        help="of planning, people, result, 5,000,000; of lint at most 1,000,000",
    )
    add("--minutes", type=float, default=20, help="of the soak; default 20")
    wanted = parser.parse_args()
    if wanted.only:
        wanted.what = "scale"
    wanted.only = wanted.only or list(scale.PARTS)
    return wanted


if __name__ == "__main__":
    main()
