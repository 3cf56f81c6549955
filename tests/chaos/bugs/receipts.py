"""What F79 must notice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.chaos.bug import bug, patch

NAP_SECONDS = 1


@bug("receipts are answered before they are kept", fault="F79")
def _answered_early() -> None:
    """Those of a second are in memory only, and their phones were told that all is well."""
    from config.feed import receipts

    keep, one = receipts._keep, ThreadPoolExecutor(1)

    def later(calls: list[Any], due: float) -> None:
        time.sleep(max(0.0, due - time.monotonic()))
        keep(calls)

    def answer_and_keep(calls: list[Any]) -> list[None]:
        one.submit(later, calls, time.monotonic() + NAP_SECONDS)
        return [None] * len(calls)

    patch(receipts, "_keep", answer_and_keep)


@bug("a receipt that is told again counts again", fault="F79")
def _counted_again() -> None:
    """It is one row, but the sums move with every call."""
    from campaigns.engagement import store_receipts

    new = "    FROM new JOIN theirs USING (seq, event)\n    UNION ALL"
    assert store_receipts.KEEP.count(new) == 1
    patch(
        store_receipts, "KEEP", store_receipts.KEEP.replace(new, "    FROM theirs\n    UNION ALL")
    )
