"""Text that PostgreSQL, JSON and FCM can all carry."""

from __future__ import annotations


def unstorable(text: str) -> str:
    """Why this text cannot be kept, in words; empty when it can."""
    if "\x00" in text:
        return "holds a NUL character; remove it"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half of a character (a lone surrogate); remove it"
    return ""
