"""(e) What teams publish: texts formatted, a task for each message, a semaphore, batch by batch.

`asyncio.gather` over a thousand, then the next thousand. Nothing is written down: who had been sent
to when the process died, nobody can say.
"""

from __future__ import annotations

import asyncio
import os
import sys

import aiohttp
import uvloop

from bench.senders import access, message
from bench.senders.measured import CONNECTIONS, WARM_UP, measured

BATCH = 1_000


async def _send_all(messages: int) -> None:
    url = os.environ["FCM_ENDPOINT"] + access.PATH
    headers = {"Authorization": f"Bearer {access.token()}"}
    at_once = asyncio.Semaphore(CONNECTIONS)
    connector = aiohttp.TCPConnector(limit=0, ssl=access.tls())
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def one(number: int) -> bool:
            async with at_once:
                text = {"message": message.wire(number)}
                async with session.post(url, json=text) as reply:
                    await reply.json()
                    return reply.status == 200

        async def send(count: int) -> int:
            accepted = 0
            for first in range(0, count, BATCH):
                batch = range(first, min(first + BATCH, count))
                accepted += sum(await asyncio.gather(*map(one, batch)))
            return accepted

        await send(WARM_UP)
        with measured() as tally:
            tally.accepted = await send(messages)
            tally.refused = messages - tally.accepted


if __name__ == "__main__":
    uvloop.run(_send_all(int(sys.argv[1])))
