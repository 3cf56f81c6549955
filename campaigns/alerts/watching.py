"""Watching: for each kind of alert, what is wrong at this moment, and from which number on.

Each look costs milliseconds however many people there are: it reads runs, sums, figures and a few
windows, and never a recipient. It may be asked at any time, and changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import F, Func, IntegerField, Max, Q, QuerySet, Sum
from django.utils.translation import gettext_noop

from campaigns.alerts.alert import Kind
from campaigns.echo.funnel import opened
from campaigns.figures import quota
from campaigns.first_part.first_part import waited_since
from campaigns.results.repairs import stalled
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import OWN_TIMES, Cause
from campaigns.runs.run import Run
from notifications.outgoing.outbox import written
from notifications.people.figures.days import DEAD, midnight
from notifications.people.figures.figure import Figure
from notifications.people.project import Project
from notifications.staff import audit

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Of the runs that ended lately, so many of the newest are looked at: no index has their ends.
NEWEST = 2_000
STATE = Run.State


@dataclass(frozen=True)
class Wrong:
    """One thing that is wrong now."""

    project_id: int
    run: Run | None = None
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int | None]:
        return self.project_id, self.run.pk if self.run else None


Look = Callable[[datetime], Iterator[Wrong]]


@dataclass(frozen=True)
class Watch:
    """A kind, how it is found, and for how long it must not be found until it counts as over: what
    goes up and down around its bound is one alert and not twenty."""

    kind: Kind
    look: Look
    calm: timedelta = timedelta(0)
    # What it says on the page of what is watched. `%(…)s` are the bounds below.
    about: str = ""


# --- Paused ---------------------------------------------------------------------------------------

# Whoever paused it knows of it; an hour later perhaps nobody does.
BY_HAND_FOR = HOUR


def paused(now: datetime) -> Iterator[Wrong]:
    """By itself: at once. By hand: when it still is an hour later. Of single messages: when none
    of a day's leaves."""
    stopped = Q(state=STATE.PAUSED, finished_at=None) | Q(state=STATE.OPEN) & ~Q(cause="")
    for run in Run.every.filter(stopped).order_by("pk"):
        if run.cause != Cause.BY_HAND or _paused_by_hand_before(run, now - BY_HAND_FOR):
            numbers = {"cause": run.cause, "detail": run.detail_for_programs}
            yield Wrong(run.project_id, run, numbers)


def _paused_by_hand_before(run: Run, moment: datetime) -> bool:
    """The trail knows when; the row does not."""
    entries = audit.entries_of(run).filter(project=run.project_id, action="paused")
    last = entries.order_by("-pk").values_list("at", flat=True).first()
    return last is not None and last <= moment


# --- Stuck ----------------------------------------------------------------------------------------

# `stalled` may be so for a moment between two waves; a run without any request for this long is not
# between two waves.
NOTHING_FOR = timedelta(minutes=5)


def stuck(now: datetime) -> Iterator[Wrong]:
    for run in stalled(now).order_by("pk"):
        last = Window.objects.filter(run=run).aggregate(at=Max("opened_at"))["at"]
        moved = max(filter(None, (last, run.started_at, run.resumed_at, run.scheduled_at)))
        if moved <= now - NOTHING_FOR:
            yield Wrong(run.project_id, run, {"since": written(moved)})


# --- Too slow -------------------------------------------------------------------------------------

MEASURED_OVER = timedelta(minutes=10)  # a restart or a ramp is over by then
FEW = 100  # that wait for another try, and not for their turn


def slow(now: datetime) -> Iterator[Wrong]:
    """At the rate of the last ten minutes, the rest would not be sent to before the deadline."""
    since = now - MEASURED_OVER
    sending = Run.objects.filter(state=STATE.SENDING, finished_at=None, started_at__lte=since)
    in_time = sending.exclude(resumed_at__gt=since).exclude(reopened_at__gt=since)
    for run in in_time.order_by("pk"):
        waiting, left = run.waiting, (run.deadline - now).total_seconds()
        if waiting < FEW or left <= 0:  # then the rest is skipped, and its reasons say so
            continue
        if waited_since(run, since):
            continue
        rate = _requests(run, since) / MEASURED_OVER.total_seconds()
        if waiting <= rate * left:
            continue
        waiting -= _asleep(run, now)
        if waiting >= FEW and waiting > rate * left:
            numbers = {
                "waiting": waiting,
                "rate": round(rate, 1),
                "needed": round(waiting / left, 1),
            }
            yield Wrong(run.project_id, run, {**numbers, "deadline": written(run.deadline)})


def _asleep(run: Run, now: datetime) -> int:
    """Whoever waits for their own time does not wait for a faster rate."""
    return run.retries.filter(reason__in=OWN_TIMES, not_before__gt=now).count()


def _requests(run: Run, since: datetime) -> int:
    size = Func("seqs", function="cardinality", output_field=IntegerField())
    lately = Window.objects.filter(run=run, opened_at__gt=since)
    return int(lately.aggregate(requests=Sum(size))["requests"] or 0)


# --- Unusually many rejected ----------------------------------------------------------------------

JUDGED = 1_000  # fewer prove nothing
TIMES, POINTS = 2, 5  # more than so many times the usual share, and by more than so many points
BEFORE, LEAST_BEFORE = 10, 3  # runs that make what is usual; of fewer than three nothing is


def rejected(now: datetime) -> Iterator[Wrong]:
    """Compared with the median of the project's ten runs before."""
    for run in lately(now).filter(planned__gte=JUDGED).order_by("pk"):
        judged = run.accepted + run.rejected
        percent = 100 * run.rejected / max(judged, 1)
        if judged < JUDGED or percent <= POINTS:
            continue
        usual = _usual_share(run)
        if usual is not None and percent > TIMES * usual and percent > usual + POINTS:
            numbers = {"judged": judged, "rejected": run.rejected}
            shares = {"percent": round(percent, 1), "usual_percent": round(usual, 1)}
            yield Wrong(run.project_id, run, {**numbers, **shares})


def lately(now: datetime) -> QuerySet[Run]:
    """Runs that are not finished, or have been for less than a day: what is older is no news."""
    newest = Run.objects.order_by("-pk").values("pk")[:NEWEST]
    ended = Q(pk__in=newest, state=STATE.FINISHED, finished_at__gt=now - DAY)
    return Run.objects.filter(Q(finished_at=None, started_at__isnull=False) | ended)


def _usual_share(run: Run) -> float | None:
    """In percent; None: nobody knows yet what is usual."""
    asked = F("accepted") + F("rejected")
    before = Run.objects.filter(project=run.project_id, pk__lt=run.pk, state=STATE.FINISHED)
    counts = before.alias(asked=asked).filter(asked__gte=FEW).order_by("-pk")
    shares = [
        100 * no / (yes + no) for yes, no in counts.values_list("accepted", "rejected")[:BEFORE]
    ]
    return median(shares) if len(shares) >= LEAST_BEFORE else None


# --- Dead addresses -------------------------------------------------------------------------------

DEAD_LEAST = 100  # a day
DEAD_TIMES = 2  # more than so many times a usual day
COMPARED = timedelta(days=29)
LEAST_DAYS = 3  # on which any was found; of fewer nothing is usual


def dead_addresses(now: datetime) -> Iterator[Wrong]:
    """Found today, compared with the median of those of the last four weeks' days on which any was
    found: most projects do not send every day."""
    days: dict[int, list[Figure]] = defaultdict(list)
    for figure in Figure.objects.filter(what=DEAD, at__gt=now - COMPARED).order_by("at"):
        days[figure.project_id].append(figure)
    for project in Project.objects.filter(pk__in=days).order_by("pk"):
        *before, last = days[project.pk]
        found = [day.count for day in before if day.count]
        is_today = last.at >= midnight(project.timezone, now)
        if not is_today or last.count < DEAD_LEAST or len(found) < LEAST_DAYS:
            continue
        usual = round(median(found))
        if last.count > DEAD_TIMES * usual:
            yield Wrong(project.pk, None, {"count": last.count, "usual": usual})


# --- Quota ----------------------------------------------------------------------------------------

QUOTA_PERCENT = 90  # the gate keeps to 80: others send, too, or the quota was lowered


def quota_nearly_used(now: datetime) -> Iterator[Wrong]:
    """Requests of the last minute. FCM counts by Firebase project, so those of ours that are one
    there count together, and against the lowest quota that was said of it."""
    used = quota.used(now)
    senders = list(Project.objects.filter(pk__in=used).order_by("pk"))
    there: dict[tuple[str, str], int] = defaultdict(int)
    for project in senders:
        there[project.firebase_project_id, project.endpoint] += used[project.pk]
    for project in senders:
        count, limit = there[project.firebase_project_id, project.endpoint], project.lowest_quota
        if 100 * count > QUOTA_PERCENT * limit:
            yield Wrong(project.pk, None, {"used": count, "quota": limit})


# --- Opened by nobody -----------------------------------------------------------------------------

OPENED_WITHIN = HOUR
ACCEPTED = 100  # on devices that would tell


def unopened(now: datetime) -> Iterator[Wrong]:
    """An hour after it began, and nobody has opened it. Only once it has ended, when it is counted
    of how many devices it would be known; and only where the project asks for it at all."""
    ended = lately(now).filter(finished_at__isnull=False, accepted__gte=ACCEPTED)
    asks = Q(project__asks_receipts=True) | ~Q(project__counts_links="")
    runs = list(ended.filter(asks, started_at__lte=now - OPENED_WITHIN).order_by("pk"))
    told = opened(runs)
    for run in runs:
        able = told[run.pk].able
        if able is not None and able >= ACCEPTED and not told[run.pk].count:
            yield Wrong(run.project_id, run, {"accepted": run.accepted, "able": able})


# --- All of them, in the order of the page -------------------------------------------------------

MINUTES = {minutes: timedelta(minutes=minutes) for minutes in (2, 5, 10)}

WATCHES = (
    Watch(
        Kind.PAUSED,
        paused,
        about=gettext_noop(
            "A run stopped by itself, was paused by hand an hour ago, or no message to single "
            "people leaves."
        ),
    ),
    Watch(
        Kind.STUCK,
        stuck,
        calm=MINUTES[2],
        about=gettext_noop("A run has work to do, and made no request for 5 minutes."),
    ),
    Watch(
        Kind.SLOW,
        slow,
        calm=MINUTES[5],
        about=gettext_noop(
            "At the rate of the last 10 minutes, a run would not reach everybody before its "
            "deadline."
        ),
    ),
    Watch(
        Kind.REJECTED,
        rejected,
        calm=MINUTES[5],
        # xgettext:no-python-format
        about=gettext_noop(
            "Of 1,000 or more, FCM rejected more than double the usual share, and over 5 points "
            "more. Usual is the median of the 10 runs before."
        ),
    ),
    Watch(
        Kind.DEAD_ADDRESSES,
        dead_addresses,
        about=gettext_noop(
            "100 or more addresses were found dead today, and more than double a usual day's."
        ),
    ),
    Watch(
        Kind.QUOTA,
        quota_nearly_used,
        calm=MINUTES[10],
        # xgettext:no-python-format
        about=gettext_noop("Over 90 % of FCM's quota was used within a minute."),
    ),
    Watch(
        Kind.UNOPENED,
        unopened,
        about=gettext_noop(
            "A run began an hour ago and has ended, 100 or more devices would tell that they "
            "opened it, and none has."
        ),
    ),
)
