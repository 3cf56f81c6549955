"""Programs that call the API, in a process of their own: it says on a line of JSON what each heard.

They speak HTTP by themselves: on two cores a client library would be measured along with the door.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.stack import Stack

PATIENCE = 60  # seconds; then a call has failed
BULK_LINES = 4


class Heard(NamedTuple):
    """One call: `status` 0 is no answer at all. Times are of the wall's clock."""

    status: int
    asked: float
    answered: float
    said: Any

    @property
    def seconds(self) -> float:
        return self.answered - self.asked


class Line:
    """One connection, kept for the next call."""

    def __init__(self, url: str, key: str) -> None:
        self._place, self._key = urlsplit(url), key

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            self._place.hostname, self._place.port
        )

    async def post(self, path: str, body: bytes) -> tuple[int, Any]:
        head = (
            f"POST /api/v1/{path} HTTP/1.1\r\nHost: {self._place.netloc}\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:] if line)
        told = await self._reader.readexactly(int(fields["content-length"]))
        return int(lines[0].split()[1]), json.loads(told)

    @property
    def is_closed(self) -> bool:
        """The server ends a connection that is idle for ten seconds."""
        return self._reader.at_eof()

    def close(self) -> None:
        self._writer.close()


class Callers:
    """`bodies` of what is posted to `path`, each by one call."""

    def __init__(self, url: str, key: str, path: str) -> None:
        self._url, self._key, self._path = url, key, path
        self._idle: list[Line] = []
        self.heard: list[Heard] = []

    async def steadily(self, bodies: Iterator[bytes], rate: float, until: asyncio.Event) -> None:
        """So many a second over kept connections. A slow door meets the next call all the same,
        and a call is late from the moment at which it was due."""
        began, calls = time.time(), set()
        for number, body in enumerate(bodies):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.time()))
            if until.is_set():
                break
            calls.add(asyncio.create_task(self._one(body, due)))
        await asyncio.gather(*calls)

    async def at_once(self, bodies: list[bytes], *, opened: bool) -> None:
        """All in the same moment, each on a connection of its own, which may stand before."""
        if opened:
            self._idle = [Line(self._url, self._key) for _ in bodies]
            for line in self._idle:
                await line.open()
        now = time.time()
        await asyncio.gather(*(self._one(body, now) for body in bodies))

    async def by_a_few(self, bodies: Iterator[bytes]) -> None:
        """One after the other on a few connections."""

        async def one() -> None:
            for body in bodies:
                await self._one(body, time.time())

        await asyncio.gather(*(one() for _ in range(BULK_LINES)))

    async def _one(self, body: bytes, asked: float) -> None:
        line = None
        try:
            async with asyncio.timeout(PATIENCE):
                line = await self._line()
                status, said = await line.post(self._path, body)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.heard.append(Heard(0, asked, time.time(), repr(error)))
            if line:
                line.close()
        else:
            self.heard.append(Heard(status, asked, time.time(), said))
            self._idle.append(line)

    async def _line(self) -> Line:
        while self._idle:
            line = self._idle.pop()
            if not line.is_closed:
                return line
            line.close()
        line = Line(self._url, self._key)
        await line.open()
        return line


class Calls:
    """Calls that begin now. `heard` waits for their end, `stop` ends steady ones before."""

    def __init__(self, stack: Stack, how: str, **order: Any) -> None:
        """Of `bodies`; or of `messages`: the first's number, how many, to how many people."""
        self._process = stack.started(sys.executable, "-m", "bench.messages.callers")
        order |= {"url": stack.url, "key": stack.key, "how": how}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def heard(self) -> list[Heard]:
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        self._process.wait(PATIENCE)
        return [Heard(*each) for each in json.loads(told)]

    def stop(self) -> list[Heard]:
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.heard()


def message(number: int, people: int) -> dict[str, Any]:
    return {
        "to": {"contact": f"b{1 + number % people}"},
        "content": {"title": "On its way", "body": "Order {{ order }} left our house."},
        "variables": {"order": f"A-{number}"},
        "deduplicate": {"key": f"bench-{number}"},
    }


async def main() -> None:
    _may_open_many_files()
    order = json.loads(sys.stdin.readline())
    bodies = (json.dumps(body).encode() for body in _bodies(order))
    callers = Callers(order["url"], order["key"], order.get("path", "messages"))
    if order["how"] == "steadily":
        await callers.steadily(bodies, order["rate"], _closed_stdin())
    elif order["how"] == "by a few":
        await callers.by_a_few(iter(list(bodies)))
    else:
        await callers.at_once(list(bodies), opened=order["how"] == "opened")
    print(json.dumps(callers.heard), flush=True)
    os._exit(0)  # without a farewell to each of thousands of connections


def _bodies(order: dict[str, Any]) -> Iterator[Any]:
    if "bodies" in order:
        yield from order["bodies"]
    else:
        first, count, people = order["messages"]
        yield from (message(number, people) for number in range(first, first + count))


def _closed_stdin() -> asyncio.Event:
    loop, closed = asyncio.get_running_loop(), asyncio.Event()

    def at_end() -> None:
        loop.remove_reader(sys.stdin)
        closed.set()

    loop.add_reader(sys.stdin, at_end)
    return closed


def _may_open_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    asyncio.run(main())
