"""The sentence beside a run's rate: why it is what it is, or would be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from campaigns.planning.launch_check import forecast
from campaigns.runs import pace
from campaigns.runs.run import Run
from notifications.pace.gate import Limit


@dataclass(frozen=True)
class Said:
    """A sentence or two; empty when the run has ended."""

    words: str = ""
    away: bool = False  # FCM is: that belongs to the top of the page


def in_plain_words(run: Run, now: datetime) -> Said:
    if run.state in (Run.State.SCHEDULED, Run.State.PREPARING):
        planned = forecast.pace(run.project, run.rate_per_second)
        said = _("At most %(rate)s: %(limit)s.")
        return Said(said % {"rate": pace.number(planned.rate), "limit": planned.limit})
    if run.state == Run.State.PAUSED:
        return Said(_("Paused: nothing leaves."))
    if run.state != Run.State.SENDING:
        return Said()
    allowed = pace.pace_of_run(run)
    words = pace.in_plain_words(run, allowed, now)
    return Said(words, away=allowed.limit is Limit.FAILING)
