"""`python -m bench.live.listening N`: N apps that listen, and the items they hear of.

Inside the stack's environment. Prints a line once all streams are open, and its numbers when told.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Collection
from datetime import timedelta
from itertools import count
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from config.front.sockets import allow_many
from notifications.inbox.storing import New, store
from notifications.keys import inbox_secret, inbox_token
from notifications.people.contact import Contact
from notifications.people.project import Project

STREAM = "/api/v1/me/inbox/stream"
AT_ONCE = 50  # that call at the same moment
SINGLE = 300  # items to one person each
PATIENCE = 60.0
numbers = count(1)


class Apps:
    def __init__(self, how_many: int) -> None:
        self.project = Project.objects.get(slug="demo")
        rows = Contact.objects.filter(project=self.project).order_by("pk")[:how_many]
        self.people = dict(rows.values_list("pk", "external_id"))
        self.secret, _ = inbox_secret.first(self.project)
        self.heard_at: dict[int, float] = {}
        self.calling = asyncio.Semaphore(AT_ONCE)
        self.open: set[int] = set()

    async def listen(self, person: int) -> None:
        expires_at = timezone.now() + timedelta(hours=1)
        token = inbox_token.make(self.secret, self.people[person], expires_at=expires_at)
        async with self.calling:
            reader, writer = await asyncio.open_connection("127.0.0.1", settings.FEED_PORT)
            head = f"GET {STREAM} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            writer.write(f"{head}\r\n".encode())
            said = await reader.readuntil(b"event: counts")
            assert said.startswith(b"HTTP/1.1 200"), said
        self.open.add(person)
        while line := await reader.readline():
            if line.startswith(b"event: item"):
                self.heard_at[person] = time.monotonic()

    async def sent(self, people: Collection[int]) -> dict[int, float]:
        """An item to each of them in one transaction: how long after it each heard, in ms."""
        self.heard_at.clear()
        committed_at = await asyncio.to_thread(self._store, people)
        until = time.monotonic() + PATIENCE
        while len(self.heard_at) < len(people) and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return {one: 1000 * (at - committed_at) for one, at in self.heard_at.items()}

    def _store(self, people: Collection[int]) -> float:
        committed: list[float] = []
        content = {"title": "On its way", "body": "Order A-17 left our house.", "data": {"a": "b"}}
        items = [New(one, f"bench:{next(numbers)}", content) for one in people]
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.monotonic()))
            store(self.project.pk, items)
        return committed[0]


def summary(sent: int, waited: Collection[float]) -> dict[str, Any]:
    each = sorted(waited)
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "most_ms": 1.0}
    found = {
        name: each[min(len(each) - 1, int(share * len(each)))] for name, share in shares.items()
    }
    return {"sent": sent, "heard": len(each), **found}


async def main(how_many: int) -> None:
    apps = await asyncio.to_thread(Apps, how_many)
    began = time.monotonic()
    listening = [asyncio.create_task(apps.listen(one)) for one in apps.people]
    while len(apps.open) < len(apps.people):
        for task in listening:
            if task.done():
                task.result()
        await asyncio.sleep(0.05)
    opened = {"streams": len(apps.open), "opening_seconds": time.monotonic() - began}
    print(json.dumps(opened), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    single = list(apps.people)[:: max(1, how_many // SINGLE)]
    one = [ms for person in single for ms in (await apps.sent([person])).values()]
    every = await apps.sent(apps.people)
    found = {"one": summary(len(single), one), "all": summary(len(apps.people), every.values())}
    print(json.dumps(found), flush=True)
    for task in listening:
        task.cancel()


if __name__ == "__main__":
    allow_many()
    asyncio.run(main(int(sys.argv[1])))
