"""FCM's place, taken by fixed bytes: every request to send gets the same 200, as late as asked for.

It reads where a request ends, and keeps when it came. Its certificate is that of the emulator whose
folder it is given, so whoever trusts the one trusts the other.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import math
import random
import resource
import socket
import ssl
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import cast

import httptools
import uvloop

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: "
SEND = b"messages:send"
P99 = 2.326  # standard deviations from the median
DELAYS = 9_973  # drawn beforehand, and then over again
BACKLOG = 4096


def whole(body: str) -> bytes:
    return f"{HEAD}{len(body)}\r\n\r\n{body}".encode()


ACCEPTED = whole('{\n  "name": "projects/carillon-demo/messages/1"\n}\n')


class Answerer:
    """What its connections share: when requests came, and how long an answer takes."""

    def __init__(self, median_ms: float, p99_ms: float) -> None:
        self.came = array("d")
        spread = math.log(p99_ms / median_ms) / P99 if median_ms else 0
        dice = random.Random(1)
        drawn = [median_ms / 1000 * math.exp(dice.gauss(0, spread)) for _ in range(DELAYS)]
        self.delay = itertools.cycle(drawn).__next__
        self.doors: dict[bytes, Callable[[], str]] = {
            b"/admin/reset": self._forget,
            b"/admin/arrivals": lambda: json.dumps(self.came.tolist()),
        }

    def _forget(self) -> str:
        del self.came[:]
        return "{}"


class Connection(asyncio.Protocol):
    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.abort()

    def on_message_begin(self) -> None:
        self._path = b""

    def on_url(self, piece: bytes) -> None:
        self._path += piece

    def on_message_complete(self) -> None:
        if self._path.endswith(SEND):
            self._answerer.came.append(time.time())
            self._loop.call_later(self._answerer.delay(), self._accept)
        elif door := self._answerer.doors.get(self._path):
            self._transport.write(whole(door()))
        else:
            self._transport.abort()

    def _accept(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(ACCEPTED)


async def _serve(folder: Path, answerer: Answerer) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.pem", folder / "server.key")
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(answerer), sock=listener, ssl=tls, backlog=BACKLOG
    )
    gc.disable()  # a request leaves no cycle behind
    print(f"answerer: https://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.growth.answerer", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="an emulator's")
    parser.add_argument("--latency-ms", type=float, default=0, help="the median")
    parser.add_argument("--latency-p99-ms", type=float, default=0)
    wanted = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uvloop.run(_serve(wanted.dir, Answerer(wanted.latency_ms, wanted.latency_p99_ms)))


if __name__ == "__main__":
    main()
