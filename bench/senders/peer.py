"""(a) Nothing but aiohttp in a loop: bodies made beforehand, no rows, no texts, no pace.

The ceiling of the library that Carillon sends with.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable

import aiohttp
import uvloop
from multidict import CIMultiDict
from yarl import URL

from bench.senders import access, message
from bench.senders.measured import CONNECTIONS, WARM_UP, measured


async def _send_all(messages: int) -> None:
    url = URL(os.environ["FCM_ENDPOINT"] + access.PATH)
    headers = CIMultiDict(
        {"Authorization": f"Bearer {access.token()}", "Content-Type": "application/json"}
    )
    bodies = [message.body(number) for number in range(messages)]
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=access.tls()),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
    ) as session:

        async def send(some: Iterable[bytes]) -> int:
            """How many were accepted."""
            accepted = 0

            async def one_connection() -> None:
                nonlocal accepted
                for body in some:
                    async with session.post(url, data=body, headers=headers) as reply:
                        await reply.read()
                        accepted += reply.status == 200

            await asyncio.gather(*(one_connection() for _ in range(CONNECTIONS)))
            return accepted

        await send(iter([message.body(number) for number in range(WARM_UP)]))
        with measured() as tally:
            tally.accepted = await send(iter(bodies))
            tally.refused = messages - tally.accepted


if __name__ == "__main__":
    uvloop.run(_send_all(int(sys.argv[1])))
