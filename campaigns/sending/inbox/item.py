"""Item: renders one person's inbox item."""

from __future__ import annotations

from typing import Any

from campaigns.texts.rendering import Reader, Renderer, Unrenderable
from notifications.inbox.storing import New


def item_of(renderer: Renderer, reader: Reader, **place: Any) -> New | None:
    """The item to store. None if a value is missing: the push is skipped for the same reason."""
    try:
        return New(content=renderer.words(reader), **place)
    except Unrenderable:
        return None
