"""Both ways to FCM, on the product's own kind of loop, with tokens made here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from notifications.fcm.fcm import Destination, FcmGateway
from notifications.fcm.transport.selection import GATEWAYS
from notifications.gateway import Outcome, Permit, Push
from notifications.keys.minting import AccountKey, Minted, Minter
from notifications.keys.tokens import AccessTokens
from notifications.proxy import Proxy
from tests.servers.fcm import Fcm

T = TypeVar("T")
BOTH = pytest.mark.parametrize("way", GATEWAYS)


class Mint(Minter):
    """Each time another token."""

    def __init__(self) -> None:
        super().__init__(ca_file=None)
        self._numbers = count(1)

    @property
    def name(self) -> str:
        return f"mint-{id(self)}"

    def mint(self) -> Minted:
        return Minted(f"token-{next(self._numbers)}", 3_600.0)


def push(number: int, **values: Any) -> Push:
    defaults: dict[str, Any] = {"kind": "token", "platform": "android", "title": "x"}
    return Push(reference=f"81:{number}", address=f"phone{number}:APA91b", **{**defaults, **values})


def gateway_to(
    endpoint: str,
    way: str,
    *,
    ca_file: Path | None,
    connections: int = 1,
    proxy: Proxy | None = None,
    minter: Minter | None = None,
) -> FcmGateway:
    return GATEWAYS[way](
        Destination(
            endpoint=endpoint,
            firebase_project_id="shop",
            tokens=AccessTokens(minter or Mint(), shared=False),
            connections=connections,
            ca_file=str(ca_file) if ca_file else None,
            proxy=proxy,
        )
    )


async def send(
    gateway: FcmGateway, messages: Sequence[Push], permit: Permit | None = None
) -> list[Outcome]:
    async with asyncio.timeout(20):
        return await gateway.send(messages, permit or Permit(60))


def run(work: Coroutine[Any, Any, T], loop: type[asyncio.AbstractEventLoop] = uvloop.Loop) -> T:
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(work)


def tokens_of(fcm: Fcm) -> AccessTokens:
    return AccessTokens(AccountKey(fcm.service_account, ca_file=str(fcm.ca_file)))


class Gateways:
    """One way to FCM, and gateways over it."""

    def __init__(self, way: str, fcm: Fcm) -> None:
        self._way, self._fcm = way, fcm

    async def of(
        self, tokens: AccessTokens | None = None, *, connections: int = 10, knows_ca: bool = True
    ) -> FcmGateway:
        return GATEWAYS[self._way](
            Destination(
                endpoint=self._fcm.url,
                firebase_project_id="carillon-demo",
                tokens=tokens or tokens_of(self._fcm),
                connections=connections,
                ca_file=str(self._fcm.ca_file) if knows_ca else None,
            )
        )

    def send(
        self,
        *turns: list[Push],
        seconds: float = 60,
        tokens: AccessTokens | None = None,
        **more: Any,
    ) -> list[Outcome]:
        """Through one gateway, each turn once the one before it is answered."""

        async def in_turn() -> list[Outcome]:
            gateway = await self.of(tokens, **more)
            try:
                async with asyncio.timeout(30):
                    answers = [await gateway.send(turn, Permit(seconds)) for turn in turns]
            finally:
                await gateway.close()
            return [outcome for turn in answers for outcome in turn]

        return asyncio.run(in_turn())
