"""The same campaign twice, before a customer's server that serves 40 opens a second: one that says
nothing, and one that says how busy it is. How long do its readers wait?"""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

from bench import people
from bench.live.backend import Backend, Readers
from bench.stack import Stack
from bench.table import row, rule

PEOPLE = 6_000
AT_MOST = 300  # a second: half as many opens again as the server can bear
REPORT_EVERY = 1.0
TARGET_MS = 250.0


def measure(folder: Path, recipients: int = PEOPLE) -> dict[str, Any]:
    with Stack(folder) as stack:
        people.fill(stack, recipients)
        found: dict[str, Any] = {
            name: asyncio.run(_sent(stack, reports=name == "reporting"))
            for name in ("silent", "reporting")
        }
    return {**found, "text": text(found)}


async def _sent(stack: Stack, *, reports: bool) -> dict[str, float]:
    campaign = people.campaign(stack)
    stack.api("PATCH", f"campaigns/{campaign}", {"rate_per_second": AT_MOST})
    stack.emulator("/admin/reset", {})
    async with Backend() as backend:
        run = stack.api("POST", f"campaigns/{campaign}/launch", {})
        readers, ended = Readers(backend.port, stack.witness(), run["id"]), asyncio.Event()
        reading = asyncio.create_task(readers.read(ended))
        while run["state"] not in ("finished", "paused"):
            if reports:
                level = {"level": backend.level}
                await asyncio.to_thread(stack.api, "POST", "backpressure", level)
            await asyncio.sleep(REPORT_EVERY)
            run = await asyncio.to_thread(stack.api, "GET", f"runs/{run['id']}")
        ended.set()
        await reading
    return _summary(run, readers.seconds)


def _summary(run: dict[str, Any], waited: list[float]) -> dict[str, float]:
    if run["state"] != "finished":
        raise SystemExit(f"The run paused: {run}")
    began, finished = (datetime.fromisoformat(run[name]) for name in ("started_at", "finished_at"))
    each, seconds = sorted(waited), (finished - began).total_seconds()
    return {
        "accepted": run["totals"]["accepted"],
        "seconds": seconds,
        "per_second": run["totals"]["accepted"] / seconds,
        "opens": len(each),
        "p50_ms": 1_000 * each[len(each) // 2],
        "p95_ms": 1_000 * each[int(0.95 * len(each))],
        "most_ms": 1_000 * each[-1],
    }


def text(found: dict[str, Any]) -> str:
    names = ("silent", "reporting")
    lines = [
        ("Messages, and opens of them", "{accepted:,.0f}; {opens:,.0f}"),
        ("Sent in", "{seconds:.0f} s"),
        ("Messages a second", "{per_second:.0f}"),
        ("An open is answered: p50", "{p50_ms:,.0f} ms"),
        (f"  p95 (wanted: {TARGET_MS:.0f} ms or less)", "{p95_ms:,.0f} ms"),
        ("  the last", "{most_ms:,.0f} ms"),
    ]
    head = ("says nothing", "says how busy")
    cells = [
        row(what, tuple(said.format(**found[name]) for name in names), width=22)
        for what, said in lines
    ]
    return "\n".join([row("A customer's server", head, width=22), rule(head), *cells])
