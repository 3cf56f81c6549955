"""Nesting: how deep a JSON value goes, asked without going there."""

from __future__ import annotations

from typing import Any

# Deeper than anything we take, and shallow enough for every recursion that looks at a value later.
MAX_DEPTH = 32


def too_deep(value: Any) -> bool:
    """Level by level, because a recursive look would fail on the very thing it looks for."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)
