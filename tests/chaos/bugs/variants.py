"""What F96 and F98 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("the control group is rung", fault="F96")
def _the_control_group_is_rung() -> None:
    """Neither guard looks at the group: not who reads the chunk, nor who opens the window."""
    from campaigns.runs import claiming
    from campaigns.sending import unsettled

    for module, name in ((claiming, "PROLONG"), (unsettled, "TO_SEND")):
        written: str = getattr(module, name)
        assert claiming.ON_PURPOSE in written
        patch(module, name, written.replace(claiming.ON_PURPOSE, "NULL"))


@bug("the text is drawn anew at each claim", fault="F96")
def _drawn_anew() -> None:
    """Whoever takes a chunk over draws the texts again, and not by the person."""
    from campaigns.runs.claiming import Claim
    from campaigns.sending import message_settings

    of_chunk = message_settings.of_chunk

    def drawn(claim: Claim) -> Any:
        found = of_chunk(claim)
        if claim.chunk.attempt > 1 and len(found) > 1:
            found = {-1: found[-1], 0: found[1], 1: found[2], 2: found[0]}
        return found

    patch(message_settings, "of_chunk", drawn)


@bug("whoever takes up a changed text takes it up for every variant", fault="F98")
def _taken_up_for_all() -> None:
    from collections import defaultdict

    from campaigns.sending import message_settings, worker_database

    def of_all(self: worker_database.WorkerDatabase) -> object:
        changed = message_settings.of_run(self._run)[1]
        return defaultdict(lambda: changed)

    patch(worker_database.WorkerDatabase, "settings", of_all)
