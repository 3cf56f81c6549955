"""Locking: the one order in which all code locks people and devices, so there is no deadlock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection


def lock_devices(devices: Any) -> list[int]:
    """Lock these devices in the common order (see registry.py). Returns their ids."""
    in_order = devices.order_by("kind", "address").select_for_update(no_key=True)
    return list(in_order.values_list("pk", flat=True))


def lock_people_against_erasure(contact_ids: Iterable[int]) -> set[int]:
    """Keep these people from being erased until the transaction ends. Returns who exists."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifications_contact WHERE id = ANY(%s)"
            " ORDER BY external_id FOR KEY SHARE",
            [list(contact_ids)],
        )
        return {row[0] for row in cursor.fetchall()}
