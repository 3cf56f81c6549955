"""Recurrence: when a series goes on, by the rhythm of its campaign. `schedule.py` makes the run."""

from __future__ import annotations

from datetime import datetime

from campaigns.runs.run import Run
from campaigns.runs.series import instant_of, stopped, waiting


def following(last: Run, now: datetime) -> datetime | None:
    """When the one after the last is due, if that is not the end of the series."""
    # One that was moved ahead is still the run of its own occurrence.
    since = max(now, last.scheduled_at, instant_of(last))
    return next(iter(last.campaign.coming(since, 1)), None)


def next_start(last: Run, now: datetime, *, without: Run) -> datetime | None:
    """When its series goes on if this run does not; None: then that is its end."""
    if stopped(last):
        return None
    others = waiting(last.campaign_id).filter(scheduled_at__gt=now).exclude(pk=without.pk)
    soonest = others.order_by("scheduled_at").first()
    return soonest.scheduled_at if soonest else following(last, now)


def goes_on(last: Run, now: datetime) -> bool:
    """Whether anything of the series starts by itself from now on."""
    if stopped(last):
        return False
    return waiting(last.campaign_id).exists() or following(last, now) is not None
