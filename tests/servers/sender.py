"""A process that sends, as a worker does, told what to do line by line. Both its ends are here."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from notifications.fcm.fcm import Destination, FcmGateway
from notifications.fcm.transport.aiohttp_transport import AiohttpGateway
from notifications.gateway import BadCredentials, Permit, Push
from notifications.keys import shared_token
from notifications.keys.minting import AccountKey, TokenUnavailable
from notifications.keys.tokens import AccessTokens
from tests.servers.fcm import Fcm
from tests.servers.forked import fork_bare


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
        self.log = Path(tempfile.mkdtemp(prefix="carillon-sender-")) / "log"
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = fork_bare(
                "tests.servers.sender",
                environment={
                    **os.environ,
                    "DJANGO_SETTINGS_MODULE": "config.settings",
                    **environment,
                },
                log=self.log,
                stdin=theirs,
            )
        self.wire = ours.makefile("rw")
        ours.close()  # with the file, that is
        self.tell(json.dumps(told))
        assert self.hear() == "ready"

    def tell(self, order: str) -> None:
        self.wire.write(order + "\n")
        self.wire.flush()

    def hear(self) -> Any:
        answer = self.wire.readline()
        assert answer, self.log.read_text()
        return json.loads(answer)

    def ask(self, order: str) -> Any:
        self.tell(order)
        return self.hear()

    def stop(self) -> None:
        self.process.kill()
        self.wire.close()


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
    wire = socket.socket(fileno=0).makefile("rw")
    told = json.loads(wire.readline())
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
    answer: Any = "ready"
    while True:
        print(json.dumps(answer), file=wire, flush=True)
        if not (line := await asyncio.to_thread(wire.readline)):
            return
        order, _, argument = line.strip().partition(" ")
        answer = await ORDERS[order](tokens, gateway, argument)


if __name__ == "__main__":
    asyncio.run(main())
