"""What F105 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("a run is not asked whom earlier ones may have reached", fault="F105")
def _only_those_surely_reached() -> None:

    from campaigns.runs import prior_recipients

    patch(prior_recipients, "RECEIVED", prior_recipients.RECEIVED[:1])


@bug("a run goes to those who have had it, too", fault="F105")
def _to_everybody() -> None:
    from campaigns.audiences.behavior.kind import Sql
    from campaigns.engine import freezing

    patch(freezing, "_not_yet_received", lambda _run: Sql("TRUE"))
