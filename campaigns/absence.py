"""Absence: was nobody here for so long that a person has to be asked before sending goes on?

The machine was off, or this is a snapshot that was restored. Whom the rows still call waiting may
have got it in the life of this database that was lost: only a person can know.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Max

from campaigns import details
from campaigns.ledger import Window
from campaigns.reasons import Cause
from campaigns.run import Run
from campaigns.tick import LONG, Tick

MOVING = (Run.State.PREPARING, Run.State.SENDING)


def ask(run: Run, now: datetime) -> bool:
    """Pause the run if nobody ticked nor worked on it for long; say whether that is so."""
    if run.state not in MOVING or Cause.AWAY in run.overruled:
        return False
    ticked = Tick.age(now)
    if ticked is None or ticked < LONG:
        return False
    # Without beat a run goes on from wave to wave, and a new one starts.
    silence = min(ticked, now - _last_sign_of(run))
    if silence < LONG:
        return False
    run.pause(Cause.AWAY, details.silent_for(silence))
    return True


def _last_sign_of(run: Run) -> datetime:
    rung = run.waves.aggregate(last=Max("rung_at"))["last"]
    opened = Window.objects.filter(run=run).aggregate(last=Max("opened_at"))["last"]
    signs = (run.launched_at, run.scheduled_at, run.started_at, rung, opened)
    return max(at for at in signs if at)
