"""The peer: nothing but aiohttp in a loop. No rows, no texts, no pace: the least Python can do."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
import time

from bench.stack import Stack

MESSAGES = 20_000
CONNECTIONS = 250


def measure(stack: Stack) -> dict[str, float]:
    """In a process of its own, so that its CPU is its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.peer"],
        env={**os.environ, **stack.env},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return dict(json.loads(done.stdout))


async def _send_all() -> dict[str, float]:
    import aiohttp
    from google.oauth2 import service_account

    endpoint, ca_file = os.environ["FCM_ENDPOINT"], os.environ["FCM_CA_FILE"]
    url = f"{endpoint}/v1/projects/carillon-demo/messages:send"
    tls = ssl.create_default_context(cafile=ca_file)
    credentials = service_account.Credentials.from_service_account_file(
        os.environ["FCM_SERVICE_ACCOUNT_FILE"],
        scopes=["https://www.googleapis.com/auth/firebase.messaging"],
    )
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=tls)
    async with aiohttp.ClientSession(connector=connector) as session:
        # Text, not bytes: of bytes aiohttp would make a multipart form.
        assertion = credentials._make_authorization_grant_assertion().decode()
        grant = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
        async with session.post(
            f"{endpoint}/token", data={**grant, "assertion": assertion}
        ) as reply:
            token = (await reply.json())["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        numbers = iter(range(MESSAGES))

        async def worker() -> None:
            for number in numbers:
                message = {"token": f"peer{number}", "notification": {"title": "x", "body": "y"}}
                body = json.dumps({"message": message}).encode()
                async with session.post(url, data=body, headers=headers) as reply:
                    await reply.read()

        cpu, started = time.process_time(), time.monotonic()
        await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
        seconds = time.monotonic() - started
    return {
        "per_second": MESSAGES / seconds,
        "cpu_us": (time.process_time() - cpu) / MESSAGES * 1e6,
    }


if __name__ == "__main__":
    import uvloop

    print(json.dumps(uvloop.run(_send_all())))
