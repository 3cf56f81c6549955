"""Shares: formats a part of a whole in percent, for pages."""

from __future__ import annotations

LEAST = 0.01  # percent; a smaller share is shown as “< 0.01”


def share(part: int, whole: int) -> str:
    """Format a share: 100 only for all, 0 only for none, and never ten times too much. The page
    adds the percent sign."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < part < whole:
        if percent < LEAST:
            return f"< {LEAST}"
        if percent > 100 - LEAST:
            return f"> {100 - LEAST}"
    return _plain(percent, 2 if percent < 0.1 or 99.9 <= percent < 100 else 1)


def width(part: int, whole: int) -> str:
    """Return a plain number for a bar and for screen readers. A part above 0 stays visible."""
    percent = 100 * part / whole if whole else 0.0
    return _plain(min(max(percent, 0.1), 99.9) if 0 < part < whole else percent, 1)


def _plain(percent: float, digits: int) -> str:
    return f"{percent:.{digits}f}".rstrip("0").rstrip(".")
