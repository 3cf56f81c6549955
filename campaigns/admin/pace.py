"""The sentence beside a run's rate: why it is what it is, or would be."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from campaigns import pace
from campaigns.admin import forecast
from campaigns.run import Run


def in_plain_words(run: Run, now: datetime) -> str:
    """A sentence or two; empty when the run has ended."""
    if run.state in (Run.State.SCHEDULED, Run.State.PREPARING):
        planned = forecast.pace(run.project, run.rate_per_second)
        said = _("At most %(rate)s: %(limit)s.")
        return said % {"rate": pace.number(planned.rate), "limit": planned.limit}
    if run.state == Run.State.PAUSED:
        return _("Paused: nothing leaves.")
    if run.state != Run.State.SENDING:
        return ""
    return pace.in_plain_words(run, pace.pace_of_run(run), now)
