"""What a library's sender is driven by: so many at once, one request after the other in each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from bench.senders import message
from bench.senders.measured import CONNECTIONS, WARM_UP, measured

Ask = Callable[[bytes], Awaitable[bool]]  # one request: whether it was accepted


async def drive(clients: Sequence[Ask], messages: int) -> None:
    """As many lanes as a worker has connections, dealt out among the clients."""
    bodies = [message.body(number) for number in range(messages)]
    await _send(clients, bodies[:WARM_UP])
    with measured() as tally:
        tally.accepted = await _send(clients, bodies)
        tally.refused = messages - tally.accepted


async def _send(clients: Sequence[Ask], bodies: Sequence[bytes]) -> int:
    left = iter(bodies)
    lanes = (_lane(clients[number % len(clients)], left) for number in range(CONNECTIONS))
    return sum(await asyncio.gather(*lanes))


async def _lane(ask: Ask, left: Iterator[bytes]) -> int:
    accepted = 0
    for body in left:
        accepted += await ask(body)
    return accepted
