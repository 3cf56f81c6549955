"""Text: checks that PostgreSQL, JSON and FCM can all carry a text."""

from __future__ import annotations

from django.utils.translation import gettext


def unstorable(text: str) -> str:
    """Say why this text cannot be stored. Empty if it can."""
    if "\x00" in text:
        return gettext("holds a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        return gettext("holds half of a character (a lone surrogate); remove it")
    return ""


def visible(name: str) -> str:
    """Format a name at the start of a message: in quotes if it is empty or only spaces."""
    return name if name.strip() else f"“{name}”"
