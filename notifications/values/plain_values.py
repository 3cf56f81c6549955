"""Plain values: formats JSON values for people: lists without brackets, objects without quotes."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

NOTHING: tuple[Any, ...] = (None, "", [], {})


def plainly(value: Any) -> str:
    """Format a value: “yes”, “12”, “red, green”, “id A1, paid yes”; a dash if it is empty."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value in NOTHING:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(plainly, value))
    if isinstance(value, dict):
        return ", ".join(f"{spaced(name)} {plainly(inner)}" for name, inner in value.items())
    return str(value)


def spaced(name: str) -> str:
    """Format an attribute's name, with spaces instead of underscores."""
    return name.replace("_", " ")


def briefly(value: Any, most: int) -> str:
    text = plainly(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
