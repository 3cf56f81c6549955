"""Calendar: the runs, expected runs and dated drafts of a time range. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice, takewhile

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from campaigns.planning import local
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import moved_occurrences
from campaigns.runs import series
from campaigns.runs.run import WAITS, Run
from campaigns.runs.series import ONCE, instant_of

MOST = 500  # series or drafts in one view; nobody could read a page of more
MAX_RUNS = 2_000  # in one view
MAX_EXPECTED = 20_000  # expected runs of all series together, the earliest first
MAX_SHOWN = 5_000  # of those, in one view: computing 1,000 takes 50 ms
EXPECTED = "expected"
DRAFT = "draft"
RESTING = "resting"  # a scheduled run of a paused series: it will be left out


@dataclass(frozen=True)
class Entry:
    """One calendar entry: a run, an expected run of a series, or a draft."""

    campaign: Campaign
    at: datetime
    state: str
    run: Run | None = None
    follows: Run | None = None  # an expected run copies this last run of its series
    instant: datetime | None = None  # of an expected run: its time by the rhythm, even if moved

    @property
    def wall(self) -> datetime | None:
        """The local time at which each person gets it; None if all get it at once. The run begins
        earlier, when the first time zone on earth reaches that time."""
        if self.run is not None:
            return self.run.local_time.wall if self.run.local_time else None
        own = self.instant or self.at
        return local.wall(self.campaign, own) if self.campaign.local_time else None

    @property
    def moved_from(self) -> datetime | None:
        """The time that the rhythm of its series gives, if it was moved; otherwise None."""
        if self.wall is not None:
            return None  # local-time runs cannot be moved
        if self.run is None:
            return self.instant if self.instant != self.at else None
        return series.moved_from(self.run)

    @property
    def movable(self) -> bool:
        if self.state == EXPECTED:
            return True
        return self.state == Run.State.SCHEDULED and (self.run is None or self.run.hour is None)


class Entries(list[Entry]):
    """Calendar entries, the earliest first. `ends`: expected runs from then on are left out,
    because there are too many; None: none is left out."""

    ends: datetime | None = None
    runs_end: datetime | None = None  # the same for runs


def entries(
    campaigns: QuerySet[Campaign],
    since: datetime,
    until: datetime,
    now: datetime,
    *,
    most: int | None = None,
    only: Callable[[Entry], bool] | None = None,
) -> Entries:
    """Return the entries of these campaigns from `since` to before `until`; `only` filters them."""
    runs = [*filter(only, _iter_runs(campaigns, since, until))]
    own_entries = [*runs[:MAX_RUNS], *filter(only, _iter_drafts(campaigns, since, until))]
    expected = _iter_expected(campaigns, max(since, now), until)
    merged = _merge_expected(own_entries, filter(only, expected), most or MAX_SHOWN)
    if len(runs) > MAX_RUNS:
        merged.runs_end = runs[MAX_RUNS].at
    return merged


def coming(
    campaigns: QuerySet[Campaign],
    since: datetime,
    until: datetime,
    now: datetime,
    *,
    series_since: Callable[[Run], datetime] | None = None,
) -> Entries:
    """Return what was launched and has not begun: scheduled runs, and expected runs of series.
    Runs that are due already count, however late. `series_since`: a later start for each series."""
    waiting = Run.objects.filter(
        state=Run.State.SCHEDULED, campaign__in=campaigns.values("pk"), scheduled_at__lt=until
    )
    due_runs = waiting.filter(Q(scheduled_at__gte=since) | Q(scheduled_at__lte=now))
    runs = due_runs.select_related("campaign__project", "project", "category").defer("content")
    launched_entries = [
        Entry(run.campaign, run.scheduled_at, run.state, run)
        for run in runs.order_by("scheduled_at")[:MOST]
        if _state_of(run) != RESTING
    ]
    expected = _iter_expected(campaigns, max(since, now), until, series_since)
    return _merge_expected(launched_entries, expected, MAX_EXPECTED)


def _merge_expected(fixed: list[Entry], coming: Iterator[Entry], most: int) -> Entries:
    merged = Entries(sorted([*fixed, *islice(coming, most)], key=_by_time))
    if one_more := next(coming, None):
        merged.ends = one_more.at
    return merged


def _by_time(entry: Entry) -> tuple[datetime, int]:
    return entry.at, entry.campaign.pk


def _iter_runs(campaigns: QuerySet[Campaign], since: datetime, until: datetime) -> Iterator[Entry]:
    """Yield runs, the earliest first; more than are shown, because a filter may drop some."""
    # A run that has started stands at its start: where people got it, not where it was due.
    when = Coalesce("started_at", "scheduled_at")
    runs = Run.objects.filter(campaign__in=campaigns.values("pk")).alias(when=when)
    within = runs.filter(when__gte=since, when__lt=until).order_by("when")
    ordered = within.select_related("campaign__project").defer("content", "rules")
    for run in ordered[: 2 * MAX_RUNS]:
        yield Entry(run.campaign, run.started_at or run.scheduled_at, _state_of(run), run)


def _state_of(run: Run) -> str:
    waits = run.state == Run.State.SCHEDULED and run.occurrence != ONCE
    return RESTING if waits and run.campaign.series_paused_at is not None else run.state


def _iter_expected(
    campaigns: QuerySet[Campaign],
    since: datetime,
    until: datetime,
    series_since: Callable[[Run], datetime] | None = None,
) -> Iterator[Entry]:
    """Yield the occurrences of running series that have no run yet, the earliest first. Only the
    next run of a series exists as a row."""
    nexts = Run.objects.filter(WAITS, campaign__in=campaigns.values("pk")).exclude(occurrence=ONCE)
    recurring = nexts.filter(
        campaign__schedule_kind=Campaign.Schedule.RECURRING, campaign__series_paused_at=None
    )
    latest = recurring.order_by("campaign_id", "-scheduled_at", "-pk").distinct("campaign_id")
    runs = latest.select_related("campaign__project", "project", "category").defer("content")
    begin = {run: max(since, series_since(run)) if series_since else since for run in runs[:MOST]}
    return merge(*(_iter_following(run, at, until) for run, at in begin.items()), key=_by_time)


def _iter_following(run: Run, since: datetime, until: datetime) -> Iterator[Entry]:
    """Yield the occurrences after this run. A moved run still counts as its own occurrence."""
    own = max(since - timedelta.resolution, instant_of(run), run.scheduled_at)
    for occurrence in takewhile(
        lambda occurrence: occurrence.begins < until,
        moved_occurrences.after(run.campaign, own, run),
    ):
        if occurrence.begins >= since:
            yield Entry(
                run.campaign, occurrence.begins, EXPECTED, follows=run, instant=occurrence.instant
            )


def _iter_drafts(
    campaigns: QuerySet[Campaign], since: datetime, until: datetime
) -> Iterator[Entry]:
    """Yield campaigns that have a time but were never launched: nothing is sent at that time."""
    once = Q(schedule_kind=Campaign.Schedule.AT, at__gte=since)
    repeats = Q(schedule_kind=Campaign.Schedule.RECURRING)
    timed = campaigns.filter(once | repeats, at__lt=until)
    never = timed.filter(runs=None, archived_at=None).order_by("-at")
    for campaign in never.select_related("project")[:MOST]:
        first = campaign.first
        if first is not None and since <= first < until:
            yield Entry(campaign, first, DRAFT)
