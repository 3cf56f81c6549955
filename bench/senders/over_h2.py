"""(g) httpx over HTTP/2: few connections with many requests at once each, bodies made beforehand.

FCM takes 100 requests at a time on a connection, and httpx opens one for each client.
"""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack

import httpx
import uvloop

from bench.senders import access
from bench.senders.lanes import Ask, drive
from bench.senders.measured import CONNECTIONS

STREAMS = 100
CLIENTS = -(-CONNECTIONS // STREAMS)


async def _send_all(messages: int) -> None:
    async with AsyncExitStack() as opened:
        clients = [await opened.enter_async_context(_client()) for _ in range(CLIENTS)]
        await drive([_ask_by(client) for client in clients], messages)


def _client() -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {access.token()}", "Content-Type": "application/json"}
    return httpx.AsyncClient(
        http1=False, http2=True, verify=access.tls(), headers=headers, timeout=None, trust_env=False
    )


def _ask_by(client: httpx.AsyncClient) -> Ask:
    url = httpx.URL(os.environ["FCM_ENDPOINT"] + access.PATH)

    async def ask(body: bytes) -> bool:
        reply = await client.post(url, content=body)  # read to its end
        return bool(reply.status_code == 200)

    return ask


if __name__ == "__main__":
    uvloop.run(_send_all(int(sys.argv[1])))
