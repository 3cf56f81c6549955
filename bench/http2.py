"""HTTP/2 before the emulator, which speaks HTTP/1.1 only, while Google's FCM speaks both.

The SDK's asynchronous sender is made for HTTP/2 and much slower without. So that it is not judged
by what our emulator lacks, it also runs through this front, whose CPU is nobody's in the table.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from hypercorn.asyncio import serve
from hypercorn.config import Config

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
PASSED_ON = {b"authorization", b"content-type"}
# So many at once on one connection are what Google allows.
STREAMS = 100


class Front:
    """An ASGI application that asks the emulator."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        headers = {
            name.decode(): value.decode() for name, value in scope["headers"] if name in PASSED_ON
        }
        async with self._session.post(scope["path"], data=body, headers=headers) as reply:
            answer = await reply.read()
        kind = [(b"content-type", reply.headers["Content-Type"].encode())]
        await send({"type": "http.response.start", "status": reply.status, "headers": kind})
        await send({"type": "http.response.body", "body": answer})


async def _serve() -> None:
    authority = Path(os.environ["FCM_CA_FILE"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.certfile = str(authority.with_name("server.pem"))
    config.keyfile = str(authority.with_name("server.key"))
    config.h2_max_concurrent_streams = STREAMS
    config.keep_alive_max_requests = 1 << 30  # it would say GOAWAY after 1,000
    config.errorlog = None
    tls = ssl.create_default_context(cafile=authority)
    connector = aiohttp.TCPConnector(limit=0, ssl=tls)
    async with aiohttp.ClientSession(os.environ["FCM_ENDPOINT"], connector=connector) as session:
        print(f"front ready on https://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        # Nothing will ever tell it to finish politely: the signal that ends it does so at once.
        await serve(Front(session), config, shutdown_trigger=asyncio.Event().wait)


if __name__ == "__main__":
    uvloop.run(_serve())
