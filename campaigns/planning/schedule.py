"""Schedule: starts due runs, pauses runs that are too late, and makes the next run of a series."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Q, Subquery
from django.utils.translation import gettext_noop

from campaigns.planning import local
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats.moved_occurrences import INSTANT, Occurrence
from campaigns.runs import absence, details
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.series import (
    ONCE,
    following,
    instant_of,
    leave_to_newer,
    next_due,
    one_before_is_going,
    repeated,
    stopped,
)
from campaigns.runs.tick import Tick
from notifications.staff import audit

log = logging.getLogger(__name__)

RUNS_AT_ONCE = 20
SOON = timedelta(seconds=10)  # two sweeps, in case one is lost
JUST_ENDED = timedelta(hours=1)  # the system may have been down for less than a long absence
COUNTED = 1_000  # missed occurrences; nobody wants a larger number


def due_soon(now: datetime) -> list[datetime]:
    """Return when runs start before the next sweeps: each time is worth a doorbell of its own."""
    soon = Run.objects.filter(scheduled_at__gt=now, scheduled_at__lte=now + SOON)
    times = soon.filter(state=Run.State.SCHEDULED).values_list("scheduled_at", flat=True)
    return list(times.order_by("scheduled_at").distinct()[:RUNS_AT_ONCE])


def plan_and_start(now: datetime) -> list[int]:
    """Make the next run of every series, then start what is due. In this order: if two runs were
    missed, the newer one leaves out the older one before that asks a person."""
    plan_series(now)
    return start_due(now)


def start_due(now: datetime) -> list[int]:
    """Move due runs to preparing. Two sweeps at once share them; none starts twice.

    If the process dies here: nothing is committed, and the next sweep starts them.
    """
    due_runs = Run.objects.filter(state=Run.State.SCHEDULED, scheduled_at__lte=now)
    with transaction.atomic():
        runs = list(
            due_runs.order_by("scheduled_at").select_for_update(skip_locked=True)[:RUNS_AT_ONCE]
        )
        return [run.pk for run in runs if _start(run, now)]


def _start(run: Run, now: datetime) -> bool:
    if run.occurrence != ONCE and run.campaign.series_paused_at is not None:
        # Missed runs are not sent later: a resumed series goes on with its next occurrence.
        why = details.columns(details.make("series_paused"))
        run.move_to(Run.State.CANCELLED, finished_at=now, **why)
        return False
    if before := one_before_is_going(run):
        # Two runs of one series at once would ring the same phones twice.
        why = details.columns(details.make("left_out", run=before.pk))
        run.move_to(Run.State.CANCELLED, finished_at=now, **why)
        return False
    late = now - run.scheduled_at
    if late > run.lateness:
        run.pause(Cause.LATE, details.lasting("late", late), since=run.scheduled_at)
        return False
    if absence.pause_after_absence(run, now):
        return False
    run.move_to(Run.State.PREPARING)
    return True


def plan_series(now: datetime) -> list[Run]:
    """Make the next run of every series whose last run is due. Two sweeps at once make one.

    If the process dies here: what is committed stays, and the next sweep makes the rest.
    """
    planned = []
    for last in _due_series(now):
        try:
            planned.append(follow(last, now))
        except Exception:  # one series that cannot go on must not hold up what else is due
            log.exception("campaign=%s has no next run", last.campaign_id)
    return [run for run in planned if run]


def _due_series(now: datetime) -> Iterator[Run]:
    """Yield the last run of each series that may go on, or that ended while the system was down."""
    goes_on = Q(until=None) | Q(until__gt=now - JUST_ENDED)
    if away := Tick.away(now):
        goes_on |= Q(until__range=(away.since, away.until))
    repeating = Campaign.objects.filter(goes_on, schedule_kind="recurring", archived_at=None)
    runs = Run.objects.filter(campaign=OuterRef("pk")).exclude(occurrence=ONCE)
    newest = Subquery(runs.order_by("-pk").values("pk")[:1])
    last_runs = Run.objects.filter(pk__in=repeating.annotate(last=newest).values("last"))
    due_runs = last_runs.filter(scheduled_at__lte=now).select_related("campaign", "project")
    return (run for run in due_runs.order_by("scheduled_at") if not stopped(run))


def follow(last: Run, now: datetime) -> Run | None:
    """Make the run after the series' last one, unless one exists or the series was stopped."""
    if _next_occurrence(last, now) is None:
        return None
    try:
        with transaction.atomic():
            campaign = Campaign.locked(last.campaign.pk)
            last.campaign = campaign  # reloaded: the next one may just have been moved
            next_one = _next_occurrence(last, now)
            if campaign.archived_at or campaign.series != last or next_one is None:
                return None
            # It never begins before the last one did, however early the first time zone reaches
            # its time. The last one began late if it was launched when that had happened already.
            begins = max(next_one.begins, last.scheduled_at)
            hour = local.hour_of(campaign, next_one.instant)
            run = repeated(last, next_one.instant, begins=begins, hour=hour)
            if next_one.due <= now:
                leave_to_newer(last, run, now)
            if missed := _count_missed(last, min(now, next_one.instant - INSTANT)):
                # The system was down. One late run asks a person; the others would only repeat it.
                audit.record(
                    "carillon",
                    gettext_noop("left out"),
                    run,
                    project=run.project,
                    campaign=campaign.name,
                    occurrences=missed,
                )
            return run
    except IntegrityError:
        return None  # another sweep was faster


def _next_occurrence(last: Run, now: datetime) -> Occurrence | None:
    """Return the occurrence after this moment. If the series ended while the system was down,
    return the last one missed: nothing else would show that it was not sent."""
    coming: Occurrence | None = following(last, now)
    if coming is not None or last.campaign.until is None:
        return coming
    since = max(last.scheduled_at, instant_of(last))
    passed = islice(last.campaign.occurrences(since, last), COUNTED)
    return max(passed, key=lambda occurrence: occurrence.due, default=None)


def leave_out(run: Run, *, by: str, now: datetime) -> None:
    """Cancel this run; its series goes on with the next one. Uses the caller's transaction."""
    last = Campaign.locked(run.campaign.pk).series
    goes_on = last is not None and next_due(last, now, without=run) is not None
    run.cancel(left_out=details.by("left_out_by", by) if goes_on else None)
    follow(run, now)


def _count_missed(last: Run, now: datetime) -> int:
    since = max(last.scheduled_at, instant_of(last))
    passed = takewhile(lambda at: at <= now, last.campaign.rhythm.after(since))
    return sum(1 for _ in islice(passed, COUNTED))
