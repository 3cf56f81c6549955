"""What F101 and F101p must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("who waits for their own time is rung an hour too soon", fault="F101")
def _rung_too_soon() -> None:
    from datetime import timedelta

    from campaigns.sending.unsettled import UnsettledRecipient

    waits_until = UnsettledRecipient.waits_until
    patch(
        UnsettledRecipient,
        "waits_until",
        lambda self, now: waits_until(self, now + timedelta(hours=1)),
    )


@bug("a pause forgets the one before", fault="F101p")
def _forgets_the_one_before() -> None:
    from datetime import datetime

    from campaigns.runs.run import Run

    def of_the_last(run: Run) -> datetime | None:
        if run.paused_at is None or run.resumed_at is None:
            return None
        return run.resumed_at if run.resumed_at > run.paused_at + run.lateness else None

    patch(Run, "went_on_late_at", property(of_the_last))
