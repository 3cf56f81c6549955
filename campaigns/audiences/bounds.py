"""Limits on the size of a tree of rules. They are checked before its contents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from django.utils.translation import gettext

from campaigns.audiences.behavior.kinds import COSTLY
from campaigns.audiences.problem import Problem

MAX_DEPTH = 6
MAX_LEAVES = 100
MAX_NODES = 500  # leaves, and the groups and “not”s around them
MAX_TEXT_IN_ALL = 250_000
MAX_COSTLY = 10  # rules on what happened: each one searches tables of millions of rows
FURTHER = 1_000  # nodes counted beyond the limit, so that the error can say how many there are


class Bounds(NamedTuple):
    depth: int
    leaves: int
    nodes: int
    text: int


AS_WRITTEN = Bounds(MAX_DEPTH, MAX_LEAVES, MAX_NODES, MAX_TEXT_IN_ALL)
# Stored trees may be larger. Migration 0012 replaced one rule by a group of two, and a launch
# replaces a rule that names an audience by that audience's rules.
AS_KEPT = Bounds(2 * MAX_DEPTH, 2 * MAX_LEAVES, 2 * MAX_NODES, 2 * MAX_TEXT_IN_ALL)


def too_much(tree: Any, bounds: Bounds) -> list[Problem]:
    """The problem of a tree that is too large; empty if its size is fine.

    It reads no more of the tree than it needs to refuse it.
    """
    nodes = list(islice(walk(tree), bounds.nodes + FURTHER))
    rules = [node for node in nodes if is_leaf(node)]
    more = "+" if len(nodes) == bounds.nodes + FURTHER else ""
    if len(rules) > bounds.leaves:
        text = gettext("at most %(most)s rules; there are %(count)s. Remove some, or let one "
                       "compare with a list of values.")  # fmt: skip
        return [_refusal(text, bounds.leaves, len(rules), more)]
    if (costly := sum(node["field"] in COSTLY for node in rules)) > MAX_COSTLY:
        text = gettext("at most %(most)s rules on runs, campaigns and events; there are %(count)s. "
                       "Remove some.")  # fmt: skip
        return [_refusal(text, MAX_COSTLY, costly)]
    if len(nodes) > bounds.nodes:
        text = gettext("at most %(most)s rules and groups; there are %(count)s. Remove groups that "
                       "hold nothing or only one rule.")  # fmt: skip
        return [_refusal(text, bounds.nodes, len(nodes), more)]
    text = gettext("at most %(most)s characters in all texts together; there are %(count)s. "
                   "Remove some values, or put the people on a static list.")  # fmt: skip
    size = sum(map(_characters, rules))
    return [_refusal(text, bounds.text, size)] if size > bounds.text else []


def _refusal(message: str, most: int, count: int, more: str = "") -> Problem:
    return Problem(message % {"most": f"{most:,}", "count": f"{count:,}{more}"})


def _characters(leaf: dict[str, Any]) -> int:
    value = leaf.get("value")
    values = value if isinstance(value, list) else [value]
    return sum(len(text) for text in values if isinstance(text, str))


def walk(tree: Any) -> Iterator[Any]:
    """Yield each node in reading order. Safe for unchecked JSON of any shape and depth.

    It does not recurse and copies nothing, so stopping early costs nothing for the rest.
    """
    way = [iter([tree])]
    while way:
        for node in way[-1]:
            yield node
            way.append(_inner(node))
            break
        else:
            way.pop()


def _inner(node: Any) -> Iterator[Any]:
    if not isinstance(node, dict):
        return iter([])
    groups = [node[word] for word in ("all", "any") if isinstance(node.get(word), list)]
    return chain(*groups, [node["not"]] if "not" in node else [])


def leaves(tree: Any) -> Iterator[dict[str, Any]]:
    return filter(is_leaf, walk(tree))


def is_leaf(node: Any) -> bool:
    return isinstance(node, dict) and "field" in node
