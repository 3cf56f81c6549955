"""(h) pyreqwest, a client written in Rust: as many requests at once as (a), bodies made beforehand.

Tokio drives its sockets in a thread of its own, rustls its TLS. Nothing limits its connections: a
request takes one that falls free before its new one stands, and that one is kept as well. HTTP/2 is
its option; a client has one connection then, and FCM takes 100 requests at a time on each.
"""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import uvloop
from pyreqwest.client import Client, ClientBuilder

from bench.senders import access
from bench.senders.lanes import Ask, drive
from bench.senders.measured import CONNECTIONS

STREAMS = 100
CLIENTS = {"http1": 1, "http2": -(-CONNECTIONS // STREAMS)}


async def _send_all(way: str, messages: int) -> None:
    async with AsyncExitStack() as opened:
        clients = [await opened.enter_async_context(_client(way)) for _ in range(CLIENTS[way])]
        await drive([_ask_by(client) for client in clients], messages)


def _client(way: str) -> Client:
    return (
        ClientBuilder()
        .add_root_certificate_pem(Path(os.environ["FCM_CA_FILE"]).read_bytes())
        .default_headers(
            {"Authorization": f"Bearer {access.token()}", "Content-Type": "application/json"}
        )
        .http2(way == "http2")
        .follow_redirects(False)
        .no_proxy()
        .build()
    )


def _ask_by(client: Client) -> Ask:
    url = os.environ["FCM_ENDPOINT"] + access.PATH

    async def ask(body: bytes) -> bool:
        reply = await client.post(url).body_bytes(body).build().send()
        await reply.bytes()
        return bool(reply.status == 200)

    return ask


if __name__ == "__main__":
    uvloop.run(_send_all(sys.argv[1], int(sys.argv[2])))
