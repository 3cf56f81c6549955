"""Absence: pauses a run for a person's decision after the system was down for long.

The machine was off, or a snapshot of the database was restored. In the second case, recipients
whom the rows call waiting may already have got their push: only a person can tell. Each absence
pauses a run once, before or after the tick that ends the absence.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Max

from campaigns.runs import details
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import Cause
from campaigns.runs.run import LEAVING, Run
from campaigns.runs.tick import LONG_SILENCE, Away, Tick

GOING_ON = (Run.State.SCHEDULED, Run.State.PREPARING, *LEAVING)


def pause_after_absence(run: Run, now: datetime) -> bool:
    """Pause the run if beat and workers were silent for long. Returns whether they were."""
    silence = _silence(run, now)
    if run.state not in GOING_ON or silence.lasted < LONG_SILENCE:
        return False
    detail = details.lasting("silent", silence.lasted)
    run.pause(Cause.AWAY, detail, since=silence.since)
    return True


def _silence(run: Run, now: datetime) -> Away:
    away = Tick.away(now)
    if away is None or run.scheduled_at > away.until:  # a run due later was not missed
        return Away(now, now)
    # Without beat, a run still goes on from wave to wave, and a new run starts.
    return Away(max(away.since, _last_sign_of(run)), away.until)


def _last_sign_of(run: Run) -> datetime:
    """The last time that a person or a worker acted on the run. Its due time does not count: the
    system may have been down then."""
    rung = run.waves.aggregate(last=Max("rung_at"))["last"]
    opened = Window.objects.filter(run=run).aggregate(last=Max("opened_at"))["last"]
    of_run = (run.launched_at, run.started_at, run.resumed_at, run.reopened_at)
    signs = (*of_run, rung, opened)
    return max(at for at in signs if at)
