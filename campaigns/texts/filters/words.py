"""Filters for texts. No result is longer than a message may be."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

from liquid.exceptions import LiquidError

from campaigns.texts.caps import MAX_OUTPUT
from campaigns.texts.filters.readers import of_a_value


@of_a_value
def join(value: Any, between: Any = " ") -> str:
    """Write a list in one line: “red, green”."""
    several = value if isinstance(value, list | tuple) else [value]
    texts = ["" if item is None else str(item) for item in several]
    _refuse_beyond(sum(map(len, texts)) + len(str(between)) * len(texts))
    return str(between).join(texts)


@of_a_value
def url_encode(value: Any) -> str:
    """Encode a text as a part of an address: “a b” becomes “a+b”."""
    encoded = quote_plus(str(value))
    _refuse_beyond(len(encoded))
    return encoded


def replace(value: Any, old: Any, new: Any = "") -> str:
    text, old, new = str(value), str(old), str(new)
    _refuse_beyond(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _refuse_beyond(length: int) -> None:
    if length > MAX_OUTPUT:
        raise LiquidError(f"it would make a text of {length:,} characters", token=None)
