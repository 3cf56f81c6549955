"""How much of it is that? In percent, for a page."""

from __future__ import annotations


def share(part: int, whole: int) -> str:
    """A percentage that says 100 only when it is all, and 0 only when it is nothing."""
    if not whole:
        return "0"
    percent = 100 * part / whole
    if 0 < part < whole:
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.1f}".removesuffix(".0")
