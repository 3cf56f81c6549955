"""What F100 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("a window opens without counting whom it rings", fault="F100")
def _not_counted() -> None:
    from campaigns.runs import claiming

    patch(claiming, "prolong_and_count", lambda _caps, _kept: claiming.PROLONG)
