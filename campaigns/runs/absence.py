"""Absence: was nobody here for so long that a person has to be asked before sending goes on?

The machine was off, or this is a snapshot that was restored. People whom the rows still call
waiting may have got their push in the time that the restored snapshot does not know of: only a
person can tell. Each absence is asked about once, before or after the tick that ends it.
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


def ask(run: Run, now: datetime) -> bool:
    """Pause the run if nobody ticked nor worked on it for long; say whether that is so."""
    silence = _silence(run, now)
    if run.state not in GOING_ON or silence.lasted < LONG_SILENCE:
        return False
    why = details.lasting("silent", silence.lasted)
    run.pause(Cause.AWAY, why, since=silence.since)
    return True


def _silence(run: Run, now: datetime) -> Away:
    away = Tick.away(now)
    if away is None or run.scheduled_at > away.until:  # what comes due later was not missed
        return Away(now, now)
    # Without beat a run goes on from wave to wave, and a new one starts.
    return Away(max(away.since, _last_sign_of(run)), away.until)


def _last_sign_of(run: Run) -> datetime:
    """When somebody last did something. That it was due is no sign: nobody may have been there."""
    rung = run.waves.aggregate(last=Max("rung_at"))["last"]
    opened = Window.objects.filter(run=run).aggregate(last=Max("opened_at"))["last"]
    of_run = (run.launched_at, run.started_at, run.resumed_at, run.reopened_at)
    signs = (*of_run, rung, opened)
    return max(at for at in signs if at)
