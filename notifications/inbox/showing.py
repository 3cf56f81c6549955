"""Showing: items as a person's app reads them, many at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Q

from notifications.inbox.item import InboxItem

CONTENT = ("title", "body", "image", "link", "data")
COLUMNS = ("category", "created_at", "expires_at", "seen_at", "read_at", "archived_at")


def shown_of(numbers: Collection[int]) -> dict[int, dict[str, Any]]:
    """Without their long texts. Of those that are still there."""
    items = InboxItem.objects.filter(pk__in=numbers).select_related("text").defer("text__article")
    return {item.pk: _shown(item) for item in items.annotate(has_article=~Q(text__article=""))}


def _shown(item: Any) -> dict[str, Any]:
    return {
        "id": item.pk,
        **{name: item.text.content.get(name, {} if name == "data" else "") for name in CONTENT},
        "has_article": item.has_article,
        **{name: getattr(item, name) for name in COLUMNS},
    }
