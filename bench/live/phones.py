"""`python -m bench.live.phones ORDER`: phones that report, so many receipts a second.

Inside the stack's environment: it signs as the product does. Of 50 receipts 30 come alone, as from
an app that is online, and 20 in one call, as from one that was not. It prints what each call heard.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from collections.abc import Iterator
from itertools import islice

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings

from bench.messages.callers import Callers
from config.front.sockets import allow_many
from notifications.keys.receipt_id import receipt_id

SINGLE, TOGETHER = 30, 20  # of a round
EVENTS = ("received", "displayed")  # of each message, one after the other


def receipts(run: int, seq: int) -> Iterator[dict[str, str]]:
    """No two the same."""
    while True:
        for event in EVENTS:
            yield {"id": receipt_id(f"{run}:{seq}"), "event": event}
        seq += 1


def bodies(order: dict[str, int]) -> Iterator[bytes]:
    left = islice(receipts(order["run"], order["seq"]), order["receipts"])
    while rows := list(islice(left, SINGLE + TOGETHER)):
        yield from (_body([row]) for row in rows[:SINGLE])
        if rows[SINGLE:]:
            yield _body(rows[SINGLE:])


def _body(rows: list[dict[str, str]]) -> bytes:
    return json.dumps({"receipts": rows}).encode()


async def main(order: dict[str, int]) -> None:
    callers = Callers(f"http://127.0.0.1:{settings.FEED_PORT}", "none", "receipts")
    calls = order["rate"] * (SINGLE + 1) / (SINGLE + TOGETHER)
    await callers.steadily(iter(list(bodies(order))), calls, asyncio.Event())
    print(json.dumps(callers.heard), flush=True)


if __name__ == "__main__":
    allow_many()
    gc.disable()  # a tenth of a second every ten, of ours: it would be charged to the feed
    asyncio.run(main(json.loads(sys.argv[1])))
