"""A fast path for some requests: answered in batches, past the product's views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from config.front.refusals import Refused


@dataclass(frozen=True)
class WholeAnswer:
    """A whole answer."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True)
class FastPath:
    """A fast path.

    `takes`: whether it takes a request; it must be quick. `answer`: answers one batch, in a thread;
    None for a request that the product must answer after all.
    """

    takes: Callable[[dict[str, Any]], bool]
    answer: Callable[[list[dict[str, Any]]], list[WholeAnswer | Refused | None]]
