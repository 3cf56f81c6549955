"""Another way for some requests: answered in turns, past the product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from config.front.refusals import Refused


@dataclass(frozen=True)
class Said:
    """A whole answer."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True)
class Way:
    """`takes`: asked of each request, in no time. `answer`: of a turn's, in a thread; None for
    those that are to be answered by the product after all."""

    takes: Callable[[dict[str, Any]], bool]
    answer: Callable[[list[dict[str, Any]]], list[Said | Refused | None]]
