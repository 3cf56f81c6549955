"""How much of it is that? In percent, for a page."""

from __future__ import annotations

LEAST = 0.01  # percent; what is less is said to be less


def share(part: int, whole: int) -> str:
    """In words: 100 only when it is all, 0 only when it is nothing, and never ten times too much.
    A page sets the percent sign."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < part < whole:
        if percent < LEAST:
            return f"< {LEAST}"
        if percent > 100 - LEAST:
            return f"> {100 - LEAST}"
    return _plain(percent, 2 if percent < 0.1 or 99.9 <= percent < 100 else 1)


def width(part: int, whole: int) -> str:
    """As a plain number, for a bar and for programs that read it out; somebody stays visible."""
    percent = 100 * part / whole if whole else 0.0
    return _plain(min(max(percent, 0.1), 99.9) if 0 < part < whole else percent, 1)


def _plain(percent: float, digits: int) -> str:
    return f"{percent:.{digits}f}".rstrip("0").rstrip(".")
