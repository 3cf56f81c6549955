"""The conditions that raise alerts, with their thresholds.

Each check takes milliseconds at any number of contacts: it reads runs, sums, figures and a few
windows, and never recipients. It changes nothing.
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

from campaigns.alerts.models import Kind
from campaigns.canary.first_part import waited_since
from campaigns.engagement.funnel import opened
from campaigns.figures import quota
from campaigns.results.repairs import stalled
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import OWN_TIMES, Cause
from campaigns.runs.run import Run
from notifications.people.figures import DEAD, Figure, midnight
from notifications.people.project import Project
from notifications.staff import audit
from notifications.webhooks.outbox import written

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NEWEST = 2_000  # runs that are checked for a recent end: no index has their ends
STATE = Run.State


@dataclass(frozen=True)
class Problem:
    """A condition that is true for this project or run now."""

    project_id: int
    run: Run | None = None
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int | None]:
        return self.project_id, self.run.pk if self.run else None


Find = Callable[[datetime], Iterator[Problem]]


@dataclass(frozen=True)
class Condition:
    """How alerts of a kind are found, and when they end."""

    kind: Kind
    find: Find
    # An alert ends once it was not found for so long: a number that goes up and down around its
    # threshold is one alert and not twenty.
    ends_after: timedelta = timedelta(0)
    description: str = ""  # on the page


# --- Paused ---------------------------------------------------------------------------------------

PAUSED_BY_HAND_FOR = HOUR  # by then people may have forgotten it


def find_paused(now: datetime) -> Iterator[Problem]:
    """A run that paused by itself, or was paused by hand an hour ago; or the project's messages to
    single people, when none is sent."""
    stopped = Q(state=STATE.PAUSED, finished_at=None) | Q(state=STATE.OPEN) & ~Q(cause="")
    for run in Run.every.filter(stopped).order_by("pk"):
        if run.cause != Cause.BY_HAND or _paused_by_hand_before(run, now - PAUSED_BY_HAND_FOR):
            numbers = {"cause": run.cause, "detail": run.detail_for_programs}
            yield Problem(run.project_id, run, numbers)


def _paused_by_hand_before(run: Run, moment: datetime) -> bool:
    """The activity log knows when; the run does not."""
    entries = audit.entries_of(run).filter(project=run.project_id, action="paused")
    last = entries.order_by("-pk").values_list("at", flat=True).first()
    return last is not None and last <= moment


# --- Stuck ----------------------------------------------------------------------------------------

# A run is `stalled` for a moment between two waves, but never for so long.
NO_REQUEST_FOR = timedelta(minutes=5)


def find_stuck(now: datetime) -> Iterator[Problem]:
    for run in stalled(now).order_by("pk"):
        last = Window.objects.filter(run=run).aggregate(at=Max("opened_at"))["at"]
        moved = max(filter(None, (last, run.started_at, run.resumed_at, run.scheduled_at)))
        if moved <= now - NO_REQUEST_FOR:
            yield Problem(run.project_id, run, {"since": written(moved)})


# --- Too slow -------------------------------------------------------------------------------------

MEASURED_OVER = timedelta(minutes=10)  # a restart or a ramp is over by then
FEW = 100  # waiting recipients: these wait for another try, and not for their turn


def find_slow(now: datetime) -> Iterator[Problem]:
    """A run that, at the rate of the last ten minutes, will not finish before its deadline."""
    since = now - MEASURED_OVER
    sending = Run.objects.filter(state=STATE.SENDING, finished_at=None, started_at__lte=since)
    in_time = sending.exclude(resumed_at__gt=since).exclude(reopened_at__gt=since)
    for run in in_time.order_by("pk"):
        waiting, seconds_left = run.waiting, (run.deadline - now).total_seconds()
        if waiting < FEW or seconds_left <= 0:  # then the rest is skipped, and its reasons say so
            continue
        if waited_since(run, since):
            continue
        rate = _requests(run, since) / MEASURED_OVER.total_seconds()
        if waiting <= rate * seconds_left:
            continue
        waiting -= _waiting_for_local_time(run, now)
        if waiting >= FEW and waiting > rate * seconds_left:
            numbers = {
                "waiting": waiting,
                "rate": round(rate, 1),
                "needed": round(waiting / seconds_left, 1),
            }
            yield Problem(run.project_id, run, {**numbers, "deadline": written(run.deadline)})


def _waiting_for_local_time(run: Run, now: datetime) -> int:
    """These recipients do not wait for a faster rate."""
    return run.retries.filter(reason__in=OWN_TIMES, not_before__gt=now).count()


def _requests(run: Run, since: datetime) -> int:
    size = Func("seqs", function="cardinality", output_field=IntegerField())
    recent = Window.objects.filter(run=run, opened_at__gt=since)
    return int(recent.aggregate(requests=Sum(size))["requests"] or 0)


# --- Unusually many rejected ----------------------------------------------------------------------

MIN_ANSWERS = 1_000  # fewer prove nothing
TIMES, POINTS = 2, 5  # over this many times the usual share, and this many points above it
EARLIER_RUNS, MIN_EARLIER_RUNS = 10, 3  # their median is the usual share


def find_rejected(now: datetime) -> Iterator[Problem]:
    """A run with a larger rejected share than the median of the project's ten runs before it."""
    for run in recent_runs(now).filter(planned__gte=MIN_ANSWERS).order_by("pk"):
        answers = run.accepted + run.rejected
        percent = 100 * run.rejected / max(answers, 1)
        if answers < MIN_ANSWERS or percent <= POINTS:
            continue
        usual = _usual_share(run)
        if usual is not None and percent > TIMES * usual and percent > usual + POINTS:
            numbers = {"judged": answers, "rejected": run.rejected}
            shares = {"percent": round(percent, 1), "usual_percent": round(usual, 1)}
            yield Problem(run.project_id, run, {**numbers, **shares})


def recent_runs(now: datetime) -> QuerySet[Run]:
    """Runs that are unfinished, or finished less than a day ago."""
    newest = Run.objects.order_by("-pk").values("pk")[:NEWEST]
    ended = Q(pk__in=newest, state=STATE.FINISHED, finished_at__gt=now - DAY)
    return Run.objects.filter(Q(finished_at=None, started_at__isnull=False) | ended)


def _usual_share(run: Run) -> float | None:
    """Returns percent, or None if there are too few earlier runs."""
    answers = F("accepted") + F("rejected")
    earlier = Run.objects.filter(project=run.project_id, pk__lt=run.pk, state=STATE.FINISHED)
    counts = earlier.alias(answers=answers).filter(answers__gte=FEW).order_by("-pk")
    last = counts.values_list("accepted", "rejected")[:EARLIER_RUNS]
    shares = [100 * no / (yes + no) for yes, no in last]
    return median(shares) if len(shares) >= MIN_EARLIER_RUNS else None


# --- Dead addresses -------------------------------------------------------------------------------

DEAD_LEAST = 100  # a day
DEAD_TIMES = 2  # over this many times a usual day
COMPARED = timedelta(days=29)
MIN_DAYS = 3  # with dead addresses; fewer days make no usual day


def find_dead_addresses(now: datetime) -> Iterator[Problem]:
    """More dead addresses today than the median day of the last four weeks. Days without any are
    left out: most projects do not send every day."""
    days: dict[int, list[Figure]] = defaultdict(list)
    for figure in Figure.objects.filter(what=DEAD, at__gt=now - COMPARED).order_by("at"):
        days[figure.project_id].append(figure)
    for project in Project.objects.filter(pk__in=days).order_by("pk"):
        *earlier, last = days[project.pk]
        counts = [day.count for day in earlier if day.count]
        is_today = last.at >= midnight(project.timezone, now)
        if not is_today or last.count < DEAD_LEAST or len(counts) < MIN_DAYS:
            continue
        usual = round(median(counts))
        if last.count > DEAD_TIMES * usual:
            yield Problem(project.pk, None, {"count": last.count, "usual": usual})


# --- Quota ----------------------------------------------------------------------------------------

QUOTA_PERCENT = 90  # the gate keeps to 80: others send too, or the quota was lowered


def find_used_quota(now: datetime) -> Iterator[Problem]:
    """FCM counts the requests of a minute by Firebase project: our projects that share one count
    together, against the lowest quota that any of them has."""
    used = quota.used(now)
    senders = list(Project.objects.filter(pk__in=used).order_by("pk"))
    by_firebase: dict[tuple[str, str], int] = defaultdict(int)
    for project in senders:
        by_firebase[project.firebase_project_id, project.endpoint] += used[project.pk]
    for project in senders:
        count = by_firebase[project.firebase_project_id, project.endpoint]
        limit = project.lowest_quota
        if 100 * count > QUOTA_PERCENT * limit:
            yield Problem(project.pk, None, {"used": count, "quota": limit})


# --- Opened by nobody -----------------------------------------------------------------------------

OPENED_WITHIN = HOUR
REPORTING_DEVICES = 100  # that report opens


def find_unopened(now: datetime) -> Iterator[Problem]:
    """A finished run that began an hour ago and was opened by nobody. Only finished runs have
    counted how many devices report opens, and only projects that ask for receipts have any."""
    ended = recent_runs(now).filter(finished_at__isnull=False, accepted__gte=REPORTING_DEVICES)
    reports_opens = Q(project__asks_receipts=True) | ~Q(project__counts_links="")
    runs = list(ended.filter(reports_opens, started_at__lte=now - OPENED_WITHIN).order_by("pk"))
    opens = opened(runs)
    for run in runs:
        able = opens[run.pk].able
        if able is not None and able >= REPORTING_DEVICES and not opens[run.pk].count:
            yield Problem(run.project_id, run, {"accepted": run.accepted, "able": able})


# --- All conditions, in the order of the page ----------------------------------------------------

MINUTES = {minutes: timedelta(minutes=minutes) for minutes in (2, 5, 10)}

CONDITIONS = (
    Condition(
        Kind.PAUSED,
        find_paused,
        description=gettext_noop(
            "A run stopped by itself, was paused by hand an hour ago, or no message to single "
            "people leaves."
        ),
    ),
    Condition(
        Kind.STUCK,
        find_stuck,
        ends_after=MINUTES[2],
        description=gettext_noop("A run has work to do, and made no request for 5 minutes."),
    ),
    Condition(
        Kind.SLOW,
        find_slow,
        ends_after=MINUTES[5],
        description=gettext_noop(
            "At the rate of the last 10 minutes, a run would not reach everybody before its "
            "deadline."
        ),
    ),
    Condition(
        Kind.REJECTED,
        find_rejected,
        ends_after=MINUTES[5],
        # xgettext:no-python-format
        description=gettext_noop(
            "Of 1,000 or more, FCM rejected more than double the usual share, and over 5 points "
            "more. Usual is the median of the 10 runs before."
        ),
    ),
    Condition(
        Kind.DEAD_ADDRESSES,
        find_dead_addresses,
        description=gettext_noop(
            "100 or more addresses were found dead today, and more than double a usual day's."
        ),
    ),
    Condition(
        Kind.QUOTA,
        find_used_quota,
        ends_after=MINUTES[10],
        # xgettext:no-python-format
        description=gettext_noop("Over 90 % of FCM's quota was used within a minute."),
    ),
    Condition(
        Kind.UNOPENED,
        find_unopened,
        description=gettext_noop(
            "A run began an hour ago and has ended, 100 or more devices would tell that they "
            "opened it, and none has."
        ),
    ),
)
