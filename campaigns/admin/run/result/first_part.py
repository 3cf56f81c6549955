"""The first part of a run on its page: how far it is, its figures beside their bounds."""

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
    first = progress.shown(run)
    return {"first": first, "first_left": progress.left(first.part, now) if first else None}


def steered_by(first: progress.Shown | None) -> list[tuple[Verb, Any]]:
    """What a person may do about it now, and what that is called here. A resume is for whoever it
    asked; a pause of another cause is resumed above."""
    if first is None or first.phase in (Phase.WENT_ON, Phase.STOPPED):
        return []
    asks = first.phase == Phase.ASKS and not first.part.run.tries_variants
    on = RESUME if asks else GO_ON
    return [(verb, words) for verb, words in ((on, GO_ON.label), (CANCEL, STOP_HERE))
            if verb.fits(first.part.run)]  # fmt: skip
