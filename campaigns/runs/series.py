"""Series: the runs of a campaign that repeats, and whether the series goes on.

A launch freezes the whole series: every later run copies text, rules and settings of the run
before it, so what was reviewed is what goes out. A text that was changed during a run is copied
only if the change was meant for the next runs too. Only the next run exists as a row.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from campaigns.runs import details
from campaigns.runs.policy import POLICY
from campaigns.runs.revisions.revision import handed_on
from campaigns.runs.run import WAITS, Run
from campaigns.runs.variants import split, variant
from campaigns.runs.variants.group import MAIN

A_DAY = timedelta(days=1)
ONCE = "once"
# Frozen by a launch, and copied from each run of a series to the next. The text is copied
# separately, as a person may have changed it for the next runs too.
FROZEN = (
    *("project_id", "campaign_id", "rules", "corrects_id"),
    *(*POLICY, "category_kind", "launched_by"),
)


def name_of(instant: datetime) -> str:
    """The name of an occurrence in the unique key: its instant in UTC, whatever zone was typed."""
    return instant.astimezone(UTC).isoformat()


def instant_of(run: Run) -> datetime:
    """When the series planned this run, even if the run was moved."""
    return datetime.fromisoformat(run.occurrence)


def moved_from(run: Run) -> datetime | None:
    """The time from which the run was moved; None: it was not moved, or belongs to no series."""
    if run.occurrence == ONCE or run.hour is not None:
        return None
    own = instant_of(run)
    return own if own != run.scheduled_at else None


def last_run(campaign_id: int) -> Run | None:
    series = Run.objects.filter(campaign=campaign_id).exclude(occurrence=ONCE)
    return series.order_by("-pk").first()  # by pk: a series launched again may be due earlier


def waiting(campaign_id: int | None) -> QuerySet[Run]:
    """The runs of a campaign's series that have not begun."""
    return Run.objects.filter(WAITS, campaign=campaign_id).exclude(occurrence=ONCE)


def left_out(run: Run) -> bool:
    """Whether the run was cancelled before it began, by us or a person, while its series goes on.
    Such a run has a detail without a cause."""
    alone = run.cause == "" and run.detail_code != ""
    return run.state == Run.State.CANCELLED and run.started_at is None and alone


def on_their_way(campaign_id: int | None) -> datetime | None:
    """When the last person gets the runs that still go around the earth; None: no run does."""
    runs = Run.objects.filter(campaign=campaign_id, finished_at=None, hour__isnull=False)
    times = (run.local_time.last for run in runs.exclude(WAITS) if run.local_time)
    return max(times, default=None)


def stopped(last: Run) -> bool:
    """Whether a person ended the series with its last run, or cancelled that run before it
    began."""
    unbegun = last.state == Run.State.CANCELLED and last.started_at is None
    return last.series_stopped_at is not None or (unbegun and not left_out(last))


def following(last: Run, now: datetime) -> Any:
    """The occurrence after the last run, and when it is due; None: the series ends."""
    # A run that was moved to an earlier time is still the run of its own occurrence.
    since = max(now, last.scheduled_at, instant_of(last))
    return next(last.campaign.occurrences(since, last), None)


def next_due(last: Run, now: datetime, *, without: Run) -> datetime | None:
    """When the series goes on without this run; None: it then ends."""
    if stopped(last):
        return None
    others = waiting(last.campaign_id).filter(scheduled_at__gt=now).exclude(pk=without.pk)
    soonest = others.order_by("scheduled_at").first()
    if soonest:
        return instant_of(soonest) if soonest.hour else soonest.scheduled_at
    after = following(last, now)
    return after.due if after else None


def goes_on(last: Run, now: datetime) -> bool:
    """Whether a run of the series starts by itself from now on."""
    if stopped(last):
        return False
    return waiting(last.campaign_id).exists() or following(last, now) is not None


def going_on(project_id: int) -> list[Run]:
    """The unfinished runs, rehearsals too, and the last run of each series that goes on: the next
    run copies it."""
    runs = Run.objects.filter(project=project_id).select_related("campaign")
    may_go_on = Q(campaign__until=None) | Q(campaign__until__gt=Now())
    repeating = runs.filter(may_go_on, campaign__schedule_kind="recurring").exclude(occurrence=ONCE)
    last = repeating.order_by("campaign_id", "-pk").distinct("campaign_id")
    due_again = [run for run in last if not run.unfinished and not stopped(run)]
    unfinished = Run.driven.filter(project=project_id, finished_at=None)
    return [*unfinished.select_related("campaign"), *due_again]


def repeated(
    run: Run, at: datetime, *, begins: datetime | None = None, hour: dict[str, Any] | None = None
) -> Run:
    """Create the next run of a series, whose own instant is `at`.

    It starts at `begins` if it was moved there; with an `hour`, when the first zone of all is due.
    Raises IntegrityError if another process was faster.
    """
    values: dict[str, Any] = {name: getattr(run, name) for name in FROZEN}
    texts, values["split"] = handed_on(run), split.handed_on(run)
    values["content"] = texts[MAIN]
    its_own = {**texts, MAIN: run.content} != variant.as_launched(run)
    if its_own:  # a person changed a variant for it
        del values["split"]["texts"]
    with transaction.atomic():
        following = Run.objects.create(
            **values,
            occurrence=name_of(at),
            scheduled_at=begins or at,
            hour=hour,
            state=Run.State.SCHEDULED,
        )
        if its_own:
            variant.keep(following, texts)
    return following


def one_before_is_going(run: Run) -> Run | None:
    """An earlier run of the series that still sends, or None.

    A run that was reopened to send again to a few recipients does not count. Neither does one on
    its way around the earth: each person gets each of those runs at their own time.
    """
    if run.occurrence == ONCE:
        return None
    earlier = Run.objects.filter(campaign=run.campaign_id, scheduled_at__lt=run.scheduled_at)
    unfinished = earlier.filter(finished_at=None, reopened_at=None).exclude(pk=run.pk)
    # Judged at the time when the run was due: after an outage it asks a person, and is not left
    # out.
    return next(
        (
            earlier_run
            for earlier_run in unfinished
            if not _goes_around(earlier_run, run.scheduled_at)
        ),
        None,
    )


def leave_to_newer(last: Run, newer: Run, now: datetime) -> None:
    """Leave out the last run if it has not begun: the newer run, which was missed too, asks a
    person. A run that still goes around the earth stays, and a paused series says why itself."""
    if last.campaign.series_paused_at is not None or _goes_around(last, now):
        return
    scheduled = Run.objects.filter(pk=last.pk, state=Run.State.SCHEDULED)
    for run in scheduled.select_for_update(no_key=True):  # a sweep may just start it
        columns = details.columns(details.make("left_out_for", run=newer.pk))
        run.move_to(Run.State.CANCELLED, finished_at=now, **columns)


def _goes_around(run: Run, at: datetime) -> bool:
    """Whether the run is on its way around the earth. Quiet hours may delay its last person by up
    to a day."""
    return run.local_time is not None and at <= run.local_time.last + A_DAY
