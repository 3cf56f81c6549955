"""Erasing: what other rooms keep of a person goes in the transaction that erases them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# By the people's numbers. Each room that keeps something without a foreign key adds its own at the
# start (see apps.py).
ERASED: list[Callable[[Sequence[int]], None]] = []


def forget_people(contact_ids: Sequence[int]) -> None:
    for forget in ERASED:
        forget(contact_ids)
