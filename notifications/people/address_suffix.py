"""Address suffixes: find a device by the last characters of its address, as a log shows them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Reverse, Right

# An index over whole addresses would be as large as the table; no log shows more than this.
INDEXED = 24
BACKWARDS = Reverse(Right("address", INDEXED))


def ending_in(devices: QuerySet[Any], tail: str) -> QuerySet[Any]:
    """Filter for addresses with this suffix: reversed, it is a prefix that an index can find."""
    matching: QuerySet[Any] = devices.alias(backwards=BACKWARDS).filter(
        backwards__startswith=tail[-INDEXED:][::-1]
    )
    return matching.filter(address__endswith=tail) if len(tail) > INDEXED else matching
