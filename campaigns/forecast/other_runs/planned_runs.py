"""Planned runs: what a Firebase project will send, as far as it was launched: scheduled runs, the
next runs of series, and the rest of the runs under way.

Messages to single people and by automations are not included: nobody knows when they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from campaigns.canary import choose_people
from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.run_sizes import Size, Sizes
from campaigns.forecast.other_runs.shared_gate import RunRequest, RunResult, simulate
from campaigns.forecast.other_runs.unsent_rest import rest_of
from campaigns.forecast.rate_forecast import RateForecast, forecast_rate
from campaigns.forecast.solver.rules import Rules
from campaigns.planning import calendar, local
from campaigns.planning.calendar import Entry
from campaigns.planning.campaign import Campaign
from campaigns.runs.local_time import LocalTime
from campaigns.runs.run import Run
from campaigns.runs.sums import totals_of

LASTS = timedelta(days=8)  # what began earlier is over: nothing is spread over more than a week
A_DAY = timedelta(days=1)
MOST = 200  # runs that are computed together; nobody could read a page of more


@dataclass(frozen=True)
class Planned:
    """One run, or an expected run of a series."""

    campaign: Campaign
    run: Run | None
    at: datetime
    asks: RunRequest | None  # None: nobody could count its people in time
    goes: RunResult | None = None  # its result beside the others
    entry: Entry | None = None  # its calendar entry, until it is under way

    @property
    def under_way(self) -> bool:
        return self.run is not None and self.run.state != Run.State.SCHEDULED

    @property
    def ends_at(self) -> datetime | None:
        return self.goes.ends_at if self.goes else None

    def is_within(self, since: datetime, until: datetime) -> bool:
        return self.at < until and (self.ends_at or self.at) >= since


@dataclass(frozen=True)
class PlannedRuns:
    runs: list[Planned]
    more: int  # how many other runs are planned, which were not computed


def compute_planned(
    there: Firebase, since: datetime, until: datetime, now: datetime
) -> PlannedRuns:
    """Compute each run that may send from `since` to `until`, beside all the others."""
    return compute_runs(there, list_all_planned(there, since, until, now), since)


def compute_runs(there: Firebase, found: Sequence[Planned], since: datetime) -> PlannedRuns:
    first = _choose_first(found, since)
    whole, part = (sum(_earliest_end(run) >= since for run in runs) for runs in (found, first))
    return PlannedRuns(run_together(first, there), whole - part)


def run_together(found: Sequence[Planned], there: Firebase) -> list[Planned]:
    goes = iter(simulate([run.asks for run in found if run.asks], there.gate))
    return [replace(run, goes=next(goes) if run.asks else None) for run in found]


def planned(there: Firebase, since: datetime, until: datetime, now: datetime) -> list[Planned]:
    """Return the planned runs, each by itself, the earliest first."""
    return _choose_first(list_all_planned(there, since, until, now), since)


def list_all_planned(
    there: Firebase, since: datetime, until: datetime, now: datetime
) -> list[Planned]:
    """Return all planned runs, however many: those that begin from `since` to `until`, and earlier
    ones that may last until then."""
    going = _under_way(there)
    campaigns = Campaign.objects.filter(project__in=there.projects)
    unfinished = Run.objects.filter(project__in=there.projects, finished_at=None)
    ids = unfinished.filter(campaign__isnull=False).values_list("campaign", flat=True).distinct()
    requests = _RequestFinder(there, Sizes({*ids}), now)

    def series_since(run: Run) -> datetime:
        return since - requests.lasts(run)

    coming = calendar.coming(
        campaigns, max(since - LASTS, now), until, now, series_since=series_since
    )
    planned_runs = [*map(requests.of_rest, going), *map(requests.of_entry, coming)]
    return sorted(planned_runs, key=lambda planned_run: planned_run.at)


def _choose_first(planned_runs: Sequence[Planned], since: datetime) -> list[Planned]:
    """Return at most MOST: runs that begin from `since` on, then earlier ones that last longest."""
    beginning = [run for run in planned_runs if run.at >= since]
    earlier = [run for run in planned_runs if run.at < since]
    earlier.sort(key=_earliest_end, reverse=True)
    first = sorted([*beginning, *earlier][:MOST], key=lambda run: run.at)
    return [replace(run, asks=run.asks and _starting_at(run.asks, run.at)) for run in first]


def _starting_at(request: RunRequest, at: datetime) -> RunRequest:
    """Set the start. The runs of a series ask for the same, each from its own time on."""
    return replace(request, rules=replace(request.rules, start=at))


def _earliest_end(run: Planned) -> datetime:
    return run.at + _least_duration(run.asks)


def _least_duration(request: RunRequest | None) -> timedelta:
    """Return how long it lasts at least: with quiet hours a day longer, and with local time until
    the last time zone."""
    if request is None:
        return timedelta()
    duration = request.rules.wait + timedelta(seconds=request.gets_it / request.rate)
    if local_time := request.rules.local_time:
        duration += local_time.last - local_time.begins
    return duration + (A_DAY if request.rules.quiet else timedelta())


def _under_way(firebase: Firebase) -> list[Run]:
    moving = Run.objects.filter(
        project__in=firebase.projects,
        finished_at=None,
        state__in=[Run.State.PREPARING, Run.State.SENDING],
    )
    return list(moving.select_related("campaign__project", "project").defer("content")[:MOST])


class _RequestFinder:
    """Finds what each run asks for. The runs of one series ask for the same, at other times."""

    def __init__(self, firebase: Firebase, sizes: Sizes, now: datetime) -> None:
        self._there, self._sizes, self._now = firebase, sizes, now
        self._expected: dict[int, RunRequest | None] = {}

    def of_entry(self, entry: Entry) -> Planned:
        at = max(entry.at, self._now)
        if entry.run is not None:
            return Planned(
                entry.campaign, entry.run, at, self._request_of(entry.run, at), entry=entry
            )
        return Planned(entry.campaign, None, at, self._on_its_day(entry), entry=entry)

    def lasts(self, run: Run) -> timedelta:
        """Return how long each run of this run's series lasts."""
        return _least_duration(self._of_series(run, self._now))

    def _on_its_day(self, entry: Entry) -> RunRequest | None:
        """Return what an expected run asks for. With local time, each has other times."""
        request = self._of_series(entry.follows, entry.at) if entry.follows else None
        if request is None or request.rules.local_time is None:
            return request
        local_time = local.launched_at(entry.campaign, entry.instant, entry.at)
        return replace(request, rules=replace(request.rules, local_time=local_time))

    def _of_series(self, run: Run, at: datetime) -> RunRequest | None:
        if run.campaign.pk not in self._expected:
            self._expected[run.campaign.pk] = self._of_later(run, at)
        return self._expected[run.campaign.pk]

    def _of_later(self, run: Run, at: datetime) -> RunRequest | None:
        """Return what later runs of a series ask for. If each person gets it only once, that is
        nothing: the next run has reached everybody by then."""
        request = self._request_of(run, at)
        return replace(request, kinds={}, gets_it=0) if request and run.once_each else request

    def of_rest(self, run: Run) -> Planned:
        """Return what the people who still wait ask for, from now on. While a run is being
        prepared, nobody knows them yet."""
        rest = totals_of(run).waiting if run.planned and not run.freezing else None
        request = self._request_of(run, self._now, rest=rest)
        if request is not None:
            time_left = max(run.deadline - self._now, timedelta())
            rules = replace(
                request.rules, ttl=request.rules.ttl if run.hour else time_left, first=0
            )
            request = replace(request, rules=rules)
        if request is not None and rest is not None:
            kinds = rest_of(run, request.kinds, rest)
            request = replace(request, kinds=kinds, gets_it=sum(kinds.values()))
        return Planned(run.campaign, run, self._now, request)

    def _request_of(self, run: Run, at: datetime, *, rest: int | None = None) -> RunRequest | None:
        size = self._sizes.size_of(run, run.rules, at, rest=rest)
        if size is None:
            return None
        begun = rest is not None
        return asks_for(run, size, at, run.local_time, there=self._there, begun=begun)


def asks_for(
    sent: Any,
    size: Size,
    at: datetime,
    by: LocalTime | None,
    *,
    there: Firebase,
    begun: bool = False,
) -> RunRequest:
    """Return what a campaign or run, `sent`, asks for. `begun`: its people are known, and `size` is
    the rest of them."""
    devices = sum(size.kinds.values())
    first = choose_people.size_of(devices, sent.first_percent, sent.first_least)
    rules = Rules(
        start=at,
        ttl=timedelta(seconds=sent.ttl_seconds),
        local_time=by,
        quiet=sent.quiet_hours,
        first=first,
        wait=timedelta(seconds=sent.first_wait_seconds if first else 0),
    )
    rate = min(_pace(sent, devices, there, begun=begun).rate, there.gate.full)
    return RunRequest(size.kinds, size.gets_it, rules, rate, exact=size.exact)


def _pace(sent: Any, devices: int, firebase: Firebase, *, begun: bool) -> RateForecast:
    project = firebase.own(sent.project_id)
    if begun:  # the rest goes on as fast as the whole was spread
        return forecast_rate(project, sent.own_rate, devices)
    return forecast_rate(
        project,
        sent.rate_per_second,
        devices,
        spread_seconds=sent.spread_seconds,
        opens_per_second=sent.opens_per_second,
    )


def of_campaign(
    campaign: Campaign, at: datetime | None, there: Firebase, now: datetime
) -> RunRequest | None:
    """Return what the campaign would ask for if it were launched for `at`; None: for its own time.
    The result is None if nobody can count its people."""
    local_time, begins = None, at or campaign.starts_at(now)
    size = Sizes([campaign.pk]).size_of(campaign, campaign.audience.effective_rules, begins)
    if size is None:
        return None
    if at is None:
        local_time = local.launched_at(campaign, campaign.goes_at(now), begins)
    return asks_for(campaign, size, begins, local_time, there=there)
