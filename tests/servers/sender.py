"""A process that sends, as a worker does, told what to do line by line. Both its ends are here."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from notifications.fcm.fcm import Destination, FcmGateway
from notifications.fcm.transport.over_aiohttp import AiohttpGateway
from notifications.gateway import BadCredentials, Permit, Push
from notifications.keys import shared_token
from notifications.keys.minting import AccountKey, TokenUnavailable
from notifications.keys.tokens import AccessTokens
from tests.servers.fcm import Fcm

ROOT = Path(__file__).resolve().parents[2]


class Sender:
    """This process's handle on the other one."""

    def __init__(self, fcm: Fcm, *, lock_seconds: float = 8.0, **changes: Any) -> None:
        environment = changes.pop("environment", {})
        told = {
            "account": {**fcm.service_account, **changes},
            "ca_file": str(fcm.ca_file),
            "endpoint": fcm.url,
            "lock_seconds": lock_seconds,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.sender"],
            cwd=ROOT,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tell(json.dumps(told))
        assert self.hear() == "ready"

    def tell(self, order: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, order: str) -> Any:
        self.tell(order)
        return self.hear()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


async def token(tokens: AccessTokens, gateway: FcmGateway, _: str) -> str:
    try:
        return await tokens.current()
    except (BadCredentials, TokenUnavailable) as error:
        return f"{type(error).__name__}: {error}"


async def send(tokens: AccessTokens, gateway: FcmGateway, count: str) -> dict[str, int]:
    messages = [
        Push(
            reference=f"1:{number}",
            kind="token",
            address=f"live{number}:APA91b",
            platform="android",
            title="x",
        )
        for number in range(int(count))
    ]
    outcomes = await gateway.send(messages, Permit(60))
    return dict(Counter(outcome.verdict for outcome in outcomes))


async def until_new(tokens: AccessTokens, gateway: FcmGateway, _: str) -> dict[str, int]:
    """Send and send, until the token is another one."""
    first = await tokens.current()
    total: Counter[str] = Counter()
    async with asyncio.timeout(30):
        while await tokens.current() == first:
            total.update(await send(tokens, gateway, "5"))
    return dict(total)


ORDERS: dict[str, Any] = {"token": token, "send": send, "until_new": until_new}


async def main() -> None:
    told = json.loads(sys.stdin.readline())
    shared_token.LOCK_SECONDS = told["lock_seconds"]
    tokens = AccessTokens(AccountKey(told["account"], ca_file=told["ca_file"]))
    gateway = AiohttpGateway(
        Destination(
            endpoint=told["endpoint"],
            firebase_project_id=told["account"]["project_id"],
            tokens=tokens,
            connections=200,
            ca_file=told["ca_file"],
        )
    )
    print('"ready"', flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        order, _, argument = line.strip().partition(" ")
        print(json.dumps(await ORDERS[order](tokens, gateway, argument)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
