"""What F84 must notice, and parts so small and slow that a kill finds one half done."""

from __future__ import annotations

import time
from typing import Any

from tests.chaos.bug import bug, patch

NAP_SECONDS, DEVICES_AT_ONCE = 0.9, 300


@bug("small text check parts", fault="")
def _small_parts() -> None:
    """So that thousands are read as millions are: killed in the middle of a part, when all of it is
    counted and nothing kept."""
    from campaigns.text_check import worker

    keep = vars(worker)["keep"]

    def keep_after_a_nap(*given: Any, **values: Any) -> None:
        if "tally" in values:
            time.sleep(NAP_SECONDS)
        keep(*given, **values)

    for name in ("FIRST", "LEAST", "MOST"):
        patch(worker, name, DEVICES_AT_ONCE)
    patch(worker, "keep", keep_after_a_nap)


@bug("keeps what a text check counted before how far it is", fault="F84")
def _keeps_early() -> None:
    """Whoever dies in between has a part counted that the next worker counts again."""
    from campaigns.text_check import worker
    from campaigns.text_check.model import TextCheck

    keep = vars(worker)["keep"]

    def keep_in_two_steps(check: TextCheck, **values: Any) -> None:
        if "tally" in values:
            TextCheck.objects.filter(pk=check.pk).update(tally=values["tally"])
        keep(check, **values)

    patch(worker, "keep", keep_in_two_steps)
