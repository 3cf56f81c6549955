"""What F99 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("who sleeps is woken an hour too soon", fault="F99")
def _woken_too_soon() -> None:
    from datetime import timedelta

    from campaigns.sending.unsettled import UnsettledRecipient

    waits_until = UnsettledRecipient.waits_until
    patch(
        UnsettledRecipient,
        "waits_until",
        lambda self, now: waits_until(self, now + timedelta(hours=1)),
    )
