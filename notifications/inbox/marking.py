"""Marking: marks items as seen, read or archived, or takes it back. A read item was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from notifications.inbox.doorbell import ring_after_commit
from notifications.inbox.item import InboxItem
from notifications.people.contact import Contact

AT_ONCE = 1_000
SEEN, READ, ARCHIVED = MARKS = ("seen", "read", "archived")
SET: dict[str, dict[str, Any]] = {
    SEEN: {"seen_at": Now()},
    READ: {"read_at": Now(), "seen_at": Coalesce(F("seen_at"), Now())},
    ARCHIVED: {"archived_at": Now()},
}
TAKEN_BACK: dict[str, dict[str, Any]] = {
    SEEN: {"seen_at": None, "read_at": None},
    READ: {"read_at": None},
    ARCHIVED: {"archived_at": None},
}


def mark(contact: Contact, name: str, items: Q) -> int:
    """Mark items. Returns how many were not marked so before; the first time stays."""
    return _change(contact, items & Q(**{f"{name}_at__isnull": True}), SET[name])


def take_back(contact: Contact, name: str, items: Q) -> int:
    return _change(contact, items & Q(**{f"{name}_at__isnull": False}), TAKEN_BACK[name])


def these(numbers: Sequence[int]) -> Q:
    return Q(pk__in=numbers)


def up_to(number: int) -> Q:
    """All items up to this one: what arrives meanwhile is not marked."""
    return Q(pk__lte=number)


def _change(contact: Contact, items: Q, values: dict[str, Any]) -> int:
    """Change items in the order of their ids, so that two tabs of a person do not deadlock.

    One statement with a subquery would do. But while the table's statistics are old, PostgreSQL may
    read all of it for each item: 10,000 of them took minutes.
    """
    with transaction.atomic():
        mine = InboxItem.objects.filter(items, contact=contact).order_by("pk")
        item_ids = list(mine.select_for_update(no_key=True).values_list("pk", flat=True))
        for start in range(0, len(item_ids), AT_ONCE):
            InboxItem.objects.filter(pk__in=item_ids[start : start + AT_ONCE]).update(**values)
        if item_ids:
            ring_after_commit([contact.pk])
    return len(item_ids)
