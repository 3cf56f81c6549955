"""A small server as a customer has one: it serves one open at a time, so its answers take longer
the more readers come at once. And the readers, who open what they got after a while."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

SERVES_SECONDS = 0.025  # an open: so 40 of them a second
OPENS, OPENED_AFTER = 0.2, 3.0  # the share of messages that are opened, and the mean of when
LOOK_EVERY = 0.1
MANY_WAIT = 20  # opens in its queue: then it is as busy as it may get
BUSY_OVER = 2.0  # seconds
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ASKING = b"GET /offer HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n"


class Backend:
    """It knows how busy it is: how much of the last seconds it worked, or how many wait."""

    def __init__(self) -> None:
        self.one = asyncio.Lock()
        self.waiting = 0
        self.served: deque[float] = deque()
        self.port = 0

    async def __aenter__(self) -> Backend:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=2_000)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.waiting += 1
        async with self.one:
            await asyncio.sleep(SERVES_SECONDS)
        self.waiting -= 1
        self.served.append(time.monotonic())
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    @property
    def level(self) -> float:
        """As it is reported."""
        while self.served and self.served[0] < time.monotonic() - BUSY_OVER:
            self.served.popleft()
        worked = len(self.served) * SERVES_SECONDS / BUSY_OVER
        return min(1.0, max(worked, self.waiting / MANY_WAIT))


class Readers:
    """Of a run: each opens what they got, or not, the same ones in each run of the benchmark."""

    def __init__(self, port: int, witness: Path, run: int) -> None:
        self.port, self.witness, self.ours = port, witness, f"{run}:"
        self.seconds: list[float] = []  # that each of them waited
        self.reading: set[asyncio.Task[None]] = set()

    async def read(self, until: asyncio.Event) -> None:
        """Until no more messages come, and everybody who opened one was answered."""
        with self.witness.open() as lines:
            while True:
                ended = until.is_set()
                for seq in self._arrived(lines):
                    chance = random.Random(seq)
                    if chance.random() < OPENS:
                        after = chance.expovariate(1 / OPENED_AFTER)
                        self.reading.add(asyncio.create_task(self._open(after)))
                if ended:
                    break
                await asyncio.sleep(LOOK_EVERY)
        await asyncio.gather(*self.reading)

    def _arrived(self, lines: Iterator[str]) -> Iterator[int]:
        for line in lines:
            reference = str(json.loads(line)["id"])
            if reference.startswith(self.ours):
                yield int(reference.removeprefix(self.ours))

    async def _open(self, after: float) -> None:
        await asyncio.sleep(after)
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(ASKING)
        await reader.read()
        writer.close()
        self.seconds.append(time.monotonic() - began)
