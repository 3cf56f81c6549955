"""What F81 must notice."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from tests.chaos.bug import bug, patch


@bug("an alert changes before anybody is told", fault="F81")
def _in_two_steps() -> None:
    """Who dies in between leaves an alert that is over, of which nobody hears."""
    from campaigns.alerts import evaluation

    class Apart:
        atomic = staticmethod(nullcontext)

    patch(evaluation, "transaction", Apart)


@bug("an alert that stands is told as if it was new", fault="F81")
def _told_again() -> None:
    """Each look tells it again, not only the one that raised it."""
    from campaigns.alerts import evaluation, events

    update = evaluation._update

    def send_again(alert: Any, problem: Any, now: Any) -> None:
        update(alert, problem, now)
        events.send_raised(alert, now)

    patch(evaluation, "_update", send_again)
