"""Text that PostgreSQL, JSON and FCM can all carry."""

from __future__ import annotations

from django.utils.translation import gettext


def unstorable(text: str) -> str:
    """Why this text cannot be kept, in words; empty when it can."""
    if "\x00" in text:
        return gettext("holds a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        return gettext("holds half of a character (a lone surrogate); remove it")
    return ""


def visible(name: str) -> str:
    """A name at the start of a message; in quotes if it is empty or of spaces alone."""
    return name if name.strip() else f"“{name}”"
