"""Rows of single recipients, and how the page of a run draws them."""

from __future__ import annotations

import re
from typing import Any

from django.utils import timezone

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run


def settle(run: Run, seq: int, status: str, reason: str = "", **values: Any) -> None:
    """What a worker would have written of one recipient."""
    chunk = run.chunks.get(first_seq__lte=seq, last_seq__gte=seq)
    Delivery.objects.create(
        run_id=run.pk, seq=seq, device_id=1, status=status, reason=reason,
        attempt=1, at=timezone.now(), **values,
    )  # fmt: skip
    setattr(chunk, status, getattr(chunk, status) + 1)
    if reason:
        chunk.reasons[reason] = chunk.reasons.get(reason, 0) + 1
    chunk.save()


def cells_of(html: str) -> str:
    found = re.search(r'data-cells="(\w*)"', html)
    return found[1] if found else ""
