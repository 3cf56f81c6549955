"""(b) The ceiling of Python: a protocol of our own around httptools, over TLS, bodies prebuilt.

No futures, no tasks, no headers parsed: whoever has read an answer writes the next request. What a
product would need besides (timeouts, a permit, an outcome for each) is not here on purpose.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop

from bench.senders import access, message
from bench.senders.measured import CONNECTIONS, WARM_UP, measured


class Crew:
    """What the connections share: the requests left, and when all of them are answered."""

    def __init__(self) -> None:
        self.requests: Iterator[bytes] = iter(())
        self.accepted = self.missing = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(self, status: int) -> None:
        self.accepted += status == 200
        self.missing -= 1
        if not self.missing:
            self.done.set_result(None)


class Connection(asyncio.Protocol):
    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.Transport, transport).write  # uvloop's is no subclass of it
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._crew.answered(self._parser.get_status_code())
        self.write_next()

    def write_next(self) -> None:
        request = next(self._crew.requests, None)
        if request is not None:
            self._write(request)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._crew.done.done():
            self._crew.done.set_exception(error or ConnectionError("The emulator hung up."))


async def _send_all(messages: int) -> None:
    address = urlsplit(os.environ["FCM_ENDPOINT"])
    head = (
        f"POST {access.PATH} HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: Bearer {access.token()}\r\nContent-Type: application/json\r\n"
    )
    assert address.hostname and address.port
    requests = [_request(head, number) for number in range(messages)]
    crew, tls, loop = Crew(), access.tls(), asyncio.get_running_loop()
    connections = []
    for _ in range(CONNECTIONS):
        _, connection = await loop.create_connection(
            lambda: Connection(crew), address.hostname, address.port, ssl=tls
        )
        connections.append(connection)
    await _send(crew, connections, [_request(head, number) for number in range(WARM_UP)])
    with measured() as tally:
        tally.accepted = await _send(crew, connections, requests)
        tally.refused = messages - tally.accepted


def _request(head: str, number: int) -> bytes:
    body = message.body(number)
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _send(crew: Crew, connections: list[Connection], requests: list[bytes]) -> int:
    crew.accepted, crew.missing, crew.requests = 0, len(requests), iter(requests)
    crew.done = asyncio.get_running_loop().create_future()
    for connection in connections:
        connection.write_next()
    await crew.done
    return crew.accepted


if __name__ == "__main__":
    uvloop.run(_send_all(int(sys.argv[1])))
