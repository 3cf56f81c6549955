"""What F85 must notice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.chaos.bug import bug, patch


@bug("who takes over a rehearsal's chunk sends for real", fault="F85")
def _sends_for_real() -> None:
    """The first worker only has FCM check; whoever comes after its death does not know that."""
    from campaigns.sending import message_settings

    of_chunk = message_settings.of_chunk

    def forgetful(claim: Any) -> Any:
        found: Any = of_chunk(claim)
        if claim.chunk.attempt == 1:
            return found
        for_real = replace(found[None], only_checked=False)
        found.default_factory = lambda: for_real
        found.clear()
        return found

    patch(message_settings, "of_chunk", forgetful)
