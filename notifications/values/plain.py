"""What an app sent, as a person reads it: a list without brackets, an object without quotes."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

NOTHING: tuple[Any, ...] = (None, "", [], {})


def plainly(value: Any) -> str:
    """“yes”, “12”, “red, green”, “id A1, paid yes”; a dash for what says nothing."""
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
    """An attribute's name, in words."""
    return name.replace("_", " ")


def briefly(value: Any, most: int) -> str:
    text = plainly(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
