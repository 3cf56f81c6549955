"""What F101 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("who waits for their own time is rung an hour too soon", fault="F101")
def _rung_too_soon() -> None:
    from datetime import timedelta

    from campaigns.sending.left import Left

    waits_until = Left.waits_until
    patch(Left, "waits_until", lambda self, now: waits_until(self, now + timedelta(hours=1)))
