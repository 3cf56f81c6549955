"""In which order people and devices are locked: one for all, so that nobody waits in a circle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection


def hold(devices: Any) -> list[int]:
    """Their ids, in the order in which everybody locks them (see registry.py)."""
    in_order = devices.order_by("kind", "address").select_for_update(no_key=True)
    return list(in_order.values_list("pk", flat=True))


def stay(contact_ids: Iterable[int]) -> set[int]:
    """Who of them is there; nobody erases these until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifications_contact WHERE id = ANY(%s)"
            " ORDER BY external_id FOR KEY SHARE",
            [list(contact_ids)],
        )
        return {row[0] for row in cursor.fetchall()}
