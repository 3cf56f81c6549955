"""The peer: nothing but aiohttp in a loop. No rows, no texts, no pace: the least Python can do."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys

import aiohttp
import orjson
import uvloop
from google.oauth2 import service_account

from bench import message
from bench.measured import measured

# As many requests under way as the others have: a batch of the SDK, two workers of Carillon.
CONNECTIONS = 500
WARM_UP = 2 * CONNECTIONS
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"


async def _send_all(messages: int) -> None:
    tls = ssl.create_default_context(cafile=os.environ["FCM_CA_FILE"])
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=tls)
    async with aiohttp.ClientSession(os.environ["FCM_ENDPOINT"], connector=connector) as session:
        session.headers["Authorization"] = f"Bearer {await _access_token(session)}"
        session.headers["Content-Type"] = "application/json"
        await _send(session, WARM_UP)
        with measured() as tally:
            tally.accepted = await _send(session, messages)
            tally.refused = messages - tally.accepted


async def _access_token(session: aiohttp.ClientSession) -> str:
    credentials = service_account.Credentials.from_service_account_file(
        os.environ["FCM_SERVICE_ACCOUNT_FILE"],
        scopes=["https://www.googleapis.com/auth/firebase.messaging"],
    )
    # Text, not bytes: of bytes aiohttp would make a multipart form.
    assertion = credentials._make_authorization_grant_assertion().decode()
    form = {"grant_type": GRANT_TYPE, "assertion": assertion}
    async with session.post("/token", data=form) as reply:
        return str((await reply.json())["access_token"])


async def _send(session: aiohttp.ClientSession, messages: int) -> int:
    """How many were accepted."""
    numbers = iter(range(messages))
    accepted = 0

    async def one_connection() -> None:
        nonlocal accepted
        for number in numbers:
            body = orjson.dumps({"message": message.wire(number)})
            async with session.post("/v1/projects/carillon-demo/messages:send", data=body) as reply:
                await reply.read()
                accepted += reply.status == 200

    await asyncio.gather(*(one_connection() for _ in range(CONNECTIONS)))
    return accepted


if __name__ == "__main__":
    uvloop.run(_send_all(int(sys.argv[1])))
