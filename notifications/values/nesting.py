"""Nesting: checks how deep a JSON value is nested, without recursion."""

from __future__ import annotations

from typing import Any

# Deeper than anything we accept, and shallow enough for all code that later recurses into a value.
MAX_DEPTH = 32


def too_deep(value: Any) -> bool:
    """Whether a value is nested too deeply. It goes level by level, because recursion would fail on
    such a value."""
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
