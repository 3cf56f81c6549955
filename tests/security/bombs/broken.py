"""Rules that no editor would make."""

from __future__ import annotations

from typing import Any

LEAF = {"field": "locale", "op": "eq", "value": "ko"}


NONSENSE = {"field": "no such field", "op": "burn", "value": {"a": 1}}


def nested(levels: int) -> Any:
    tree: Any = LEAF
    for _ in range(levels):
        tree = {"not": tree}
    return tree


BROKEN = {
    "behind 101 groups": {"all": [{"all": []}] * 101 + [NONSENSE]},
    "too many": {"any": [LEAF] * 1_000},
    "too many values": {**LEAF, "op": "in", "value": ["ko"] * 2_000},
    "unknown operator": {"field": "locale", "op": "burn", "value": "ko"},
    "unknown field": {"all": [NONSENSE]},
    "no field": {"op": "eq"},
    "a list that is text": {"any": [{"field": "list", "op": "in", "value": ["x", None]}]},
    "a value of another type": {"field": "created_at", "op": "before", "value": [1]},
    "no list": {"all": "everyone"},
    "no object inside": {"all": [1, None, "x", []]},
    "a list": [LEAF],
    "a text": "everyone",
    "a number": 5,
    "null": None,
    "two words": {"all": [], "any": [5], "not": 7},
    "deep": nested(200),
}
