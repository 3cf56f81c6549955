"""Registry: a list of functions that a module calls without importing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Member = TypeVar("Member")


class Registry(Generic[Member]):
    """A list of members that `campaigns/registrations.py` adds when Django starts."""

    def __init__(self) -> None:
        self._members: list[Member] = []

    def add(self, *members: Member) -> None:
        self._members += members

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
