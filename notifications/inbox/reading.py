"""Reading: what a person's inbox shows, and how much of it is new."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from notifications.inbox.item import InboxItem
from notifications.people.contact import Contact


class Counts(NamedTuple):
    """How many items are unseen and unread, of those that are neither archived nor expired."""

    unseen: int
    unread: int


def items_of(contact: Contact) -> QuerySet[InboxItem]:
    """A person's items that have not expired, archived ones too, without their long texts."""
    lasting = Q(expires_at__isnull=True) | Q(expires_at__gt=Now())
    # Without the project in the query, PostgreSQL can only use the person's own indexes.
    return _defer_article(InboxItem.objects.filter(lasting, contact=contact))


def items_numbered(numbers: Collection[int]) -> QuerySet[InboxItem]:
    """The items with these ids that still exist, of any person, without their long texts."""
    return _defer_article(InboxItem.objects.filter(pk__in=numbers))


def _defer_article(items: QuerySet[InboxItem]) -> QuerySet[InboxItem]:
    brief = items.select_related("text").defer("text__article")
    return brief.annotate(has_article=~Q(text__article=""))


# Answered by the index inbox_unread alone.
COUNTS = """
SELECT count(*) FILTER (WHERE seen_at IS NULL), count(*) FROM notifications_inboxitem
WHERE contact_id = %s AND read_at IS NULL AND archived_at IS NULL
    AND (expires_at IS NULL OR expires_at > statement_timestamp())
"""


# Served by the index inbox_unread_together.
COUNTS_TOGETHER = f"{COUNTS} AND collapse = %s AND collapse <> ''"
UNSEEN_TOGETHER = """
SELECT contact_id, collapse, count(*) FROM notifications_inboxitem
WHERE contact_id = ANY(%s) AND collapse = ANY(%s) AND collapse <> ''
    AND seen_at IS NULL AND read_at IS NULL AND archived_at IS NULL
    AND (expires_at IS NULL OR expires_at > statement_timestamp())
GROUP BY contact_id, collapse
"""


def counts_of(contact: Contact, collapse: str = "") -> Counts:
    """Count all items of a person, or those that belong together by this word."""
    with connection.cursor() as cursor:
        if collapse:
            cursor.execute(COUNTS_TOGETHER, [contact.pk, collapse])
        else:
            cursor.execute(COUNTS, [contact.pk])
        return Counts(*cursor.fetchone())


def unseen_together(people: Collection[int], words: Collection[str]) -> dict[tuple[int, str], int]:
    """The number of unseen items by person and word. A person without any is missing."""
    with connection.cursor() as cursor:
        cursor.execute(UNSEEN_TOGETHER, [list(people), list(words)])
        return {(person, word): count for person, word, count in cursor.fetchall()}


def export_items(contact: Contact) -> Iterator[dict[str, Any]]:
    """A person's items for their export, expired or not, until they are removed."""
    names = (
        "category",
        "collapse",
        "created_at",
        "expires_at",
        "seen_at",
        "read_at",
        "archived_at",
    )
    mine = InboxItem.objects.filter(contact=contact).select_related("text").order_by("pk")
    for item in mine.iterator(chunk_size=100):
        content = {**item.text.content, "article": item.text.article}
        yield {**content, **{name: getattr(item, name) for name in names}}
