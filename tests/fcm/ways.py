"""Both ways to FCM, on the loop that the product has, with a token that nobody need be asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from notifications.fcm.fcm import FcmGateway
from notifications.fcm.lanes import LanesGateway
from notifications.fcm.pool import PoolGateway
from notifications.gateway import Outcome, Permit, Push
from notifications.keys.minting import Minted, Minter
from notifications.keys.tokens import AccessTokens

T = TypeVar("T")
WAYS: dict[str, type[LanesGateway] | type[PoolGateway]] = {
    "aiohttp": LanesGateway,
    "wire": PoolGateway,
}
BOTH = pytest.mark.parametrize("way", WAYS)


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
    endpoint: str, way: str, *, ca_file: Path | None, connections: int = 1
) -> FcmGateway:
    return WAYS[way](
        endpoint=endpoint,
        firebase_project_id="shop",
        tokens=AccessTokens(Mint(), shared=False),
        connections=connections,
        ca_file=str(ca_file) if ca_file else None,
    )


async def send(
    gateway: FcmGateway, messages: Sequence[Push], permit: Permit | None = None
) -> list[Outcome]:
    async with asyncio.timeout(20):
        return await gateway.send(messages, permit or Permit(60))


def run(work: Coroutine[Any, Any, T], loop: type[uvloop.Loop] = uvloop.Loop) -> T:
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(work)
