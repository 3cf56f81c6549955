"""The canary on a run's page: its progress, and its figures beside their limits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from campaigns.canary import progress
from campaigns.canary.progress import Phase
from campaigns.runs.run import Run
from campaigns.verbs import CANCEL, GO_ON, RESUME, Verb

STOP_HERE = _("Stop here")


def picture(run: Run, now: datetime) -> dict[str, Any]:
    first = progress.load_progress(run)
    return {"first": first, "first_left": progress.wait_left(first.part, now) if first else None}


def steered_by(first: progress.CanaryProgress | None) -> list[tuple[Verb, Any]]:
    """The actions for the canary now, with their labels. It is resumed here only if it asks for a
    decision; a pause for another cause is resumed above."""
    if first is None or first.phase in (Phase.WENT_ON, Phase.STOPPED):
        return []
    asks = first.phase == Phase.ASKS and not first.part.run.tries_variants
    on = RESUME if asks else GO_ON
    return [(verb, words) for verb, words in ((on, GO_ON.label), (CANCEL, STOP_HERE))
            if verb.fits(first.part.run)]  # fmt: skip
