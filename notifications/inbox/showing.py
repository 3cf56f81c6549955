"""Showing: items as a person's app reads them, the same from the list and from a stream."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from notifications.inbox.item import InboxItem
from notifications.values import exact


def shown(numbers: Collection[int]) -> dict[int, bytes]:
    items = InboxItem.objects.filter(pk__in=numbers).select_related("text").defer("text__article")
    return {item.pk: exact.dumps(as_shown(item)) for item in items}


def as_shown(item: InboxItem) -> dict[str, Any]:
    return {
        "id": item.pk,
        **item.text.content,
        "category": item.category,
        "created_at": item.created_at,
        "expires_at": item.expires_at,
        "seen_at": item.seen_at,
        "read_at": item.read_at,
        "archived_at": item.archived_at,
    }
