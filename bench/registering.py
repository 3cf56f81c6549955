"""An app registers devices 300 times a second, and a sync writes people.

`python -m bench.registering`, and a part of `--only people`.

The app does not wait for an answer before its next call: a slow server meets it all the same. Half
of the calls come from phones that are known, half bring a new address.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import time
from pathlib import Path
from typing import Any

import aiohttp

from bench import people
from bench.processes import cpu_seconds
from bench.stack import Stack

FOLDER = Path("var/bench")
PEOPLE = 100_000
CALLS_PER_SECOND, SECONDS = 300, 30
BULK, BULKS, AT_ONCE = 1_000, 40, 2
TIMEOUT = aiohttp.ClientTimeout(total=30)


def measure(stack: Stack, known: int) -> dict[str, Any]:
    """With so many people there already."""
    before = cpu_seconds(stack.launcher.pid)
    told: dict[str, Any] = asyncio.run(_devices(stack, known))
    spent = cpu_seconds(stack.launcher.pid)
    calls = CALLS_PER_SECOND * SECONDS
    told["cpu_ms"] = {kind: 1000 * (spent[kind] - before[kind]) / calls for kind in spent}
    return told | asyncio.run(_bulk(stack))


async def _devices(stack: Stack, known: int) -> dict[str, Any]:
    took: list[float] = []
    failed: list[str] = []
    async with _session(stack) as app:
        under_way: set[asyncio.Task[None]] = set()
        began = time.monotonic()
        for number in range(CALLS_PER_SECOND * SECONDS):
            body = _registration(number, known)
            task = asyncio.create_task(
                _call(app, f"{stack.url}/api/v1/devices", body, took, failed)
            )
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            await asyncio.sleep(began + (number + 1) / CALLS_PER_SECOND - time.monotonic())
        await asyncio.gather(*under_way)
        seconds = time.monotonic() - began
    return {
        "calls": len(took),
        "calls_per_second": len(took) / seconds,
        "median_ms": statistics.median(took or [0.0]) * 1000,
        "p99_ms": statistics.quantiles(took, n=100)[-1] * 1000 if len(took) > 1 else 0.0,
        "failed": len(failed),
        "first_failure": next(iter(failed), ""),
    }


def _registration(number: int, known: int) -> dict[str, str]:
    """Of the phone that each person has, or of a second one."""
    person = 1 + number * 7 % known
    token = f"{number:022x}:APA91b{number:0134x}"
    if number % 2:  # the same phone again, as an app says it at each start
        person = 1 + person % 1_000
        token = f"{10**9 + person:022x}:APA91b{person:0134x}"
    return {"contact": f"b{person}", "token": token, "platform": "android", "app_version": "5.2"}


async def _bulk(stack: Stack) -> dict[str, Any]:
    """So many calls at once, one after the other: what one sync of an app does."""
    took: list[float] = []
    failed: list[str] = []
    numbers = itertools.count()

    async def sync(app: aiohttp.ClientSession) -> None:
        while (number := next(numbers)) < BULKS:
            body = {"contacts": [_person(number * BULK + one) for one in range(BULK)]}
            await _call(app, f"{stack.url}/api/v1/contacts/bulk", body, took, failed)

    async with _session(stack) as app:
        began = time.monotonic()
        await asyncio.gather(*(sync(app) for _ in range(AT_ONCE)))
        seconds = time.monotonic() - began
    return {"bulk_per_second": len(took) * BULK / seconds, "bulk_failed": len(failed)}


def _person(number: int) -> dict[str, Any]:
    return {
        "external_id": f"n{number}",
        "attributes": {"first_name": "Kim", "city": "Boston", "points": number, "plan": "pro"},
        "locale": "en",
        "timezone": "America/New_York",
        "devices": [{"token": f"n{number:021x}:APA91b{number:0134x}", "platform": "ios"}],
    }


async def _call(
    app: aiohttp.ClientSession, url: str, body: Any, took: list[float], failed: list[str]
) -> None:
    started = time.monotonic()
    try:
        async with app.post(url, json=body) as reply:
            said = await reply.text()
            if reply.status != 200:
                failed.append(f"{reply.status} {said[:300]}")
                return
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        failed.append(repr(error)[:300])
    else:
        took.append(time.monotonic() - started)


def _session(stack: Stack) -> aiohttp.ClientSession:
    key = {"Authorization": f"Bearer {stack.key}"}
    return aiohttp.ClientSession(headers=key, timeout=TIMEOUT)


def text(found: dict[str, Any]) -> str:
    cpu = ", ".join(f"{kind} {ms:.1f}" for kind, ms in found["cpu_ms"].items() if ms >= 0.1)
    return (
        f"POST devices: {found['calls_per_second']:.0f}/s, median {found['median_ms']:.0f} ms,"
        f" p99 {found['p99_ms']:.0f} ms, {found['failed']} failed {found['first_failure']}\n"
        f"  CPU ms a call: {cpu}\n"
        f"POST contacts/bulk: {found['bulk_per_second']:,.0f} people/s,"
        f" {found['bulk_failed']} failed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.registering")
    parser.add_argument("--people", type=int, default=PEOPLE, help="known already")
    known = parser.parse_args().people
    with Stack(FOLDER, workers=1) as stack:
        people.fill(stack, known)
        found = measure(stack, known)
    (FOLDER / "registering.json").write_text(json.dumps(found, indent=2) + "\n")
    print(text(found))


if __name__ == "__main__":
    main()
