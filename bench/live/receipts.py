"""Phones that report on a campaign, 2,000 receipts a second: how soon each call is answered, and
whether all that was answered is kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psycopg

from bench import launch, people
from bench.messages.callers import Heard
from bench.messages.outcome import milliseconds
from bench.stack import Stack
from bench.table import row, rule

PEOPLE = 60_000
RATE, SECONDS = 2_000, 45
WARM = 3  # seconds before, which do not count: the first turns find nothing in memory
MAX_MS = 50.0
LATEST = "SELECT max(run_id) FROM campaigns_recipient"
KEPT = "SELECT count(*) FROM campaigns_receipt WHERE run_id = %s"
SUMMED = "SELECT sum(count) FROM campaigns_echosum WHERE run_id = %s AND by = ''"
COSTS = ("feed", "postgresql")


def measure(folder: Path, recipients: int = PEOPLE, *, seconds: float = SECONDS) -> dict[str, Any]:
    # All its phones have one address.
    with Stack(folder, different={"API_RATE_PER_ADDRESS": "0"}) as stack:
        people.fill(stack, recipients)
        launch.measure(stack)
        run = _ask(stack, LATEST)
        _told(stack, run, seq=1, seconds=WARM)
        before, kept = stack.cpu(), _ask(stack, KEPT, run)
        heard = _told(stack, run, seq=int(WARM * RATE), seconds=seconds)
        spent = stack.cpu() - before
        good = [each for each in heard if each.status == 200]
        told = sum(each.said["accepted"] for each in good)
        found = {
            "calls": len(heard), "failed": len(heard) - len(good), "receipts": told,
            "per_second": told / (max(e.answered for e in heard) - min(e.asked for e in heard)),
            "single": _milliseconds(good, single=True), "many": _milliseconds(good, single=False),
            # Of a call that was given up some may be kept: a phone would tell it again.
            "lost": max(0, told - (_ask(stack, KEPT, run) - kept)),
            "sums_agree": _ask(stack, SUMMED, run) == _ask(stack, KEPT, run),
            "cpu_us": {kind: 1e6 * spent[kind] / max(1, told) for kind in COSTS},
        }  # fmt: skip
    return {**found, "text": text(found)}


def _told(stack: Stack, run: int, *, seq: int, seconds: float) -> list[Heard]:
    order = {"run": run, "seq": seq, "receipts": int(RATE * seconds), "rate": RATE}
    phones = stack.started(sys.executable, "-m", "bench.live.phones", json.dumps(order))
    said, _ = phones.communicate(timeout=seconds + 120)
    return [Heard(*each) for each in json.loads(said)]


def _milliseconds(heard: list[Heard], *, single: bool) -> dict[str, float]:
    return milliseconds([e.seconds for e in heard if (e.said["accepted"] == 1) == single])


def _ask(stack: Stack, sql: str, *values: Any) -> Any:
    with psycopg.connect(stack.superusers_url()) as connection:
        found = connection.execute(sql, values).fetchone()
    assert found is not None
    return found[0]


def text(found: dict[str, Any]) -> str:
    cpu = found["cpu_us"]
    lines = [
        ("Receipts a second, told and kept", f"{found['per_second']:,.0f}", f"{RATE:,}"),
        *_times("A call with one", found["single"]),
        *_times("A call with twenty", found["many"]),
        ("Calls not answered; receipts lost", f"{found['failed']:,}; {found['lost']:,}", "0; 0"),
        ("CPU of a receipt: feed, PostgreSQL", " + ".join(f"{cpu[k]:.0f}" for k in COSTS), "µs"),
        ("The sums are those of the rows", "yes" if found["sums_agree"] else "NO", "yes"),
    ]
    head = ("found", "wanted")
    cells = [row(name, (value, wanted), width=22) for name, value, wanted in lines]
    return "\n".join([row("Receipts", head, width=22), rule(head), *cells])


def _times(name: str, found: dict[str, float]) -> list[tuple[str, str, str]]:
    return [
        (f"{name}: p50", f"{found['p50_ms']:.1f} ms", ""),
        ("  p99", f"{found['p99_ms']:.1f} ms", f"{MAX_MS:.0f} ms or less"),
    ]
