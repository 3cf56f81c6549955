"""Reasons: why a row was refused, stored so that each reader sees it in their own language.

A reason is stored as a text of the catalogue and its values. A text that was reworded since is
shown in English.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

Reason = tuple[str, Mapping[str, Any]]  # the text, and the values in it

MOST = 500  # characters of all reasons of a row
MAX_VALUE = 80


def reasons_of(error: ValidationError) -> list[Reason]:
    """The reasons in an error. Call it within `override(None)`, which leaves texts untranslated."""
    return [(str(each.message), each.params or {}) for each in error.error_list]


def reasons_to_store(reasons: Iterable[Reason]) -> str:
    """The reasons as a row stores them: [[text, values], …], as many as there is room for."""
    reasons_kept: list[tuple[str, dict[str, Any]]] = []
    written = ""
    for text, values in reasons:
        reason = (text, {name: _short(values[name]) for name in values if f"%({name})" in text})
        longer = orjson.dumps([*reasons_kept, reason]).decode()
        if len(longer) <= MOST and reason not in reasons_kept:
            reasons_kept.append(reason)
            written = longer
    return written


def _short(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    storable = value.encode(errors="replace").decode().replace("\x00", "?")
    return storable if len(storable) <= MAX_VALUE else f"{storable[:MAX_VALUE]}…"


def in_words(kept: str) -> str:
    """Stored reasons as a text in the reader's language."""
    return " ".join(_in_words(text, values) for text, values in orjson.loads(kept or "[]"))


def _in_words(text: str, values: dict[str, Any]) -> str:
    if "problem" in values:  # a text itself
        values = {**values, "problem": gettext(values["problem"])}
    return gettext(text) % values if values else gettext(text)
