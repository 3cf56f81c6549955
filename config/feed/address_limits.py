"""Limits per address: how many sockets it may hold, and how often it may call."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from http import HTTPStatus
from math import ceil

from config.front.refusals import Refused

BURST = 2  # seconds of the rate that may come at once, as for every API caller
REMEMBERED = 10_000  # addresses


class TooManySockets(Refused):
    status = HTTPStatus.TOO_MANY_REQUESTS
    retry_after = 5

    def text(self) -> str:
        return (
            "Too many calls from this address are under way. Nothing was done. "
            f"Try again in {self.retry_after} s."
        )


class TooOften(Refused):
    status = HTTPStatus.TOO_MANY_REQUESTS
    kind = "too-many-requests"

    def __init__(self, rate: int, wait: float) -> None:
        self.rate, self.retry_after = rate, ceil(wait)

    def text(self) -> str:
        return (
            f"At most {self.rate:,} a second from this address, each kB counts as one. "
            f"Nothing was done. Try again in {self.retry_after} s."
        )


class SocketLimits:
    """The sockets that may be open at once, and which address holds how many of them.

    An address may hold at most as many sockets as are still free: some are always left for others.
    Streams count for no address: they have shown a token, and many phones may share one address.
    """

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0
        self.held: Counter[str] = Counter()

    def enter(self) -> bool:
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def leave(self) -> None:
        self.taken -= 1

    def hold(self, address: str) -> bool:
        """Take a socket for the address. False if it already holds its share."""
        if self.held[address] >= self.most - self.taken:
            return False
        self.held[address] += 1
        return True

    def let_go(self, address: str) -> None:
        self.held[address] -= 1
        if not self.held[address]:
            del self.held[address]


class Rates:
    """How many units a second each address may use. Each process counts for itself."""

    def __init__(self, rate: int) -> None:
        """`rate`: 0 for no limit."""
        self.rate = rate
        # When the bucket of each address is full again; the last caller stands last.
        self.full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, address: str, units: int) -> None:
        """Use so many units. Raises TooOften.

        A call larger than a burst passes if the address used nothing lately.
        """
        if not self.rate:
            return
        now = time.monotonic()
        full_at = max(now, self.full_at.pop(address, now))
        full_after = full_at + min(units / self.rate, BURST)
        wait = full_after - now - BURST
        self.full_at[address] = full_at if wait > 0 else full_after
        if len(self.full_at) > REMEMBERED:
            self.full_at.popitem(last=False)
        if wait > 0:
            raise TooOften(self.rate, wait)
