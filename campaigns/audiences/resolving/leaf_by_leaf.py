"""Changing each rule in a tree of rules; groups and “not”s stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Leaf = dict[str, Any]


def each_leaf(tree: Leaf, change: Callable[[Leaf], Leaf]) -> Leaf:
    """Copy a tree with each rule changed. For a checked tree only, because its depth is limited."""
    for word in ("all", "any"):
        if word in tree:
            return {word: [each_leaf(inner, change) for inner in tree[word]]}
    if "not" in tree:
        return {"not": each_leaf(tree["not"], change)}
    return change(tree)
