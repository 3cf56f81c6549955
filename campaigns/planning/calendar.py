"""Calendar: what went out and what will, in a span of time. Reads only."""

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

MOST = 500  # series or drafts in one view; a page of more could not be read
MOST_RUNS = 2_000  # in one view
MOST_EXPECTED = 20_000  # times of all series together, the earliest first
MOST_SHOWN = 5_000  # of those, in one view: computing a thousand takes 50 ms
EXPECTED = "expected"
DRAFT = "draft"
RESTING = "resting"  # of a series that is paused: it will be left out


@dataclass(frozen=True)
class Entry:
    """One thing at one instant: a run, or what is expected to become one."""

    campaign: Campaign
    at: datetime
    state: str
    run: Run | None = None
    follows: Run | None = None  # what is expected is sent as this one was launched
    instant: datetime | None = None  # its own, of what is expected, wherever it was moved

    @property
    def wall(self) -> datetime | None:
        """What the clock of each of its readers shows then; its run begins earlier, in the first
        zone of all. None: it goes to all at once."""
        if self.run is not None:
            return self.run.local_time.wall if self.run.local_time else None
        own = self.instant or self.at
        return local.wall(self.campaign, own) if self.campaign.local_time else None

    @property
    def moved_from(self) -> datetime | None:
        """When it was to be by the rhythm of its series; None: that is when it is."""
        if self.wall is not None:
            return None  # none of those is moved
        if self.run is None:
            return self.instant if self.instant != self.at else None
        return series.moved_from(self.run)

    @property
    def movable(self) -> bool:
        if self.state == EXPECTED:
            return True
        return self.state == Run.State.SCHEDULED and (self.run is None or self.run.hour is None)


class Entries(list[Entry]):
    """The earliest first. `ends`: from then on what is expected of series is left out, as there is
    too much of it; None: nothing is."""

    ends: datetime | None = None
    runs_end: datetime | None = None  # the same of runs


def entries(
    campaigns: QuerySet[Campaign],
    since: datetime,
    until: datetime,
    now: datetime,
    *,
    most: int | None = None,
    only: Callable[[Entry], bool] | None = None,
) -> Entries:
    """Everything of these campaigns from `since` to before `until`, or only some of it."""
    runs = [*filter(only, _runs(campaigns, since, until))]
    others = [*runs[:MOST_RUNS], *filter(only, _drafts(campaigns, since, until))]
    expected = _expected(campaigns, max(since, now), until)
    found = _with(others, filter(only, expected), most or MOST_SHOWN)
    if len(runs) > MOST_RUNS:
        found.runs_end = runs[MOST_RUNS].at
    return found


def coming(
    campaigns: QuerySet[Campaign],
    since: datetime,
    until: datetime,
    now: datetime,
    *,
    series_since: Callable[[Run], datetime] | None = None,
) -> Entries:
    """What was launched and has not begun: scheduled runs, and the next ones of series, of which
    each may begin later than `since`. What is due already counts, however late."""
    waiting = Run.objects.filter(
        state=Run.State.SCHEDULED, campaign__in=campaigns.values("pk"), scheduled_at__lt=until
    )
    due = waiting.filter(Q(scheduled_at__gte=since) | Q(scheduled_at__lte=now))
    runs = due.select_related("campaign__project", "project", "category").defer("content")
    found = [
        Entry(run.campaign, run.scheduled_at, run.state, run)
        for run in runs.order_by("scheduled_at")[:MOST]
        if _state_of(run) != RESTING
    ]
    expected = _expected(campaigns, max(since, now), until, series_since)
    return _with(found, expected, MOST_EXPECTED)


def _with(others: list[Entry], coming: Iterator[Entry], most: int) -> Entries:
    found = Entries(sorted([*others, *islice(coming, most)], key=_by_time))
    if one_more := next(coming, None):
        found.ends = one_more.at
    return found


def _by_time(entry: Entry) -> tuple[datetime, int]:
    return entry.at, entry.campaign.pk


def _runs(campaigns: QuerySet[Campaign], since: datetime, until: datetime) -> Iterator[Entry]:
    """The earliest first; of very many, more than are shown, as not all of them are asked for."""
    # When it left, once it has: a late run stands where people got it, not where it was due.
    when = Coalesce("started_at", "scheduled_at")
    runs = Run.objects.filter(campaign__in=campaigns.values("pk")).alias(when=when)
    within = runs.filter(when__gte=since, when__lt=until).order_by("when")
    told = within.select_related("campaign__project").defer("content", "rules")
    for run in told[: 2 * MOST_RUNS]:
        yield Entry(run.campaign, run.started_at or run.scheduled_at, _state_of(run), run)


def _state_of(run: Run) -> str:
    waits = run.state == Run.State.SCHEDULED and run.occurrence != ONCE
    return RESTING if waits and run.campaign.series_paused_at is not None else run.state


def _expected(
    campaigns: QuerySet[Campaign],
    since: datetime,
    until: datetime,
    series_since: Callable[[Run], datetime] | None = None,
) -> Iterator[Entry]:
    """The occurrences of running series of which no run exists yet: only the next one does. The
    earliest first."""
    nexts = Run.objects.filter(WAITS, campaign__in=campaigns.values("pk")).exclude(occurrence=ONCE)
    recurring = nexts.filter(
        campaign__schedule_kind=Campaign.Schedule.RECURRING, campaign__series_paused_at=None
    )
    latest = recurring.order_by("campaign_id", "-scheduled_at", "-pk").distinct("campaign_id")
    runs = latest.select_related("campaign__project", "project", "category").defer("content")
    begin = {run: max(since, series_since(run)) if series_since else since for run in runs[:MOST]}
    return merge(*(_following(run, at, until) for run, at in begin.items()), key=_by_time)


def _following(run: Run, since: datetime, until: datetime) -> Iterator[Entry]:
    """A run that was moved is still its own occurrence."""
    own = max(since - timedelta.resolution, instant_of(run), run.scheduled_at)
    for one in takewhile(
        lambda one: one.begins < until, moved_occurrences.after(run.campaign, own, run)
    ):
        if one.begins >= since:
            yield Entry(run.campaign, one.begins, EXPECTED, follows=run, instant=one.instant)


def _drafts(campaigns: QuerySet[Campaign], since: datetime, until: datetime) -> Iterator[Entry]:
    """Campaigns with a time that nobody has launched: at that time nothing would happen."""
    once = Q(schedule_kind=Campaign.Schedule.AT, at__gte=since)
    repeats = Q(schedule_kind=Campaign.Schedule.RECURRING)
    timed = campaigns.filter(once | repeats, at__lt=until)
    never = timed.filter(runs=None, archived_at=None).order_by("-at")
    for campaign in never.select_related("project")[:MOST]:
        first = campaign.first
        if first is not None and since <= first < until:
            yield Entry(campaign, first, DRAFT)
