"""Recurrence: when does a campaign that repeats go out, and which run comes next?

A launch freezes the whole series: every later run copies text, rules and settings of the one
before it, so what was reviewed is what goes out. Only the next run exists as a row; `schedule.py`
makes it the moment the one before it is due.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from cronsim import CronSim
from django.db.models import Q
from django.db.models.functions import Now

from campaigns.run import Run

if TYPE_CHECKING:
    from campaigns.campaign import Campaign

ONCE = "once"
DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"
# Frozen by a launch, and handed from each run of a series to the next.
FROZEN = (
    "project_id", "campaign_id", "content", "rules", "on_unknown", "rate_per_second",
    "ttl_seconds", "analytics_label", "max_lateness_seconds", "launched_by",
)  # fmt: skip


@dataclass(frozen=True)
class Rhythm:
    """From `first` on, at the same time on the wall clock of `zone`, to `until`."""

    first: datetime
    repeat: str
    zone: str
    until: datetime | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        return next(self.after(moment), None)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Every occurrence later than `moment`. An hour that spring skips gives the one after it;
        an hour that autumn repeats gives one occurrence, not two."""
        if moment < self.first and self._lasts(self.first):
            yield self.first
        local = max(moment, self.first).astimezone(ZoneInfo(self.zone))
        for candidate in CronSim(self._expression, local):
            instant = candidate.astimezone(UTC)
            if not self._lasts(instant):
                return
            # In the hour that comes twice, a clock alone cannot tell that we are past it.
            if instant > moment and self._meant(candidate):
                yield instant

    def _lasts(self, instant: datetime) -> bool:
        return self.until is None or instant <= self.until

    @property
    def _wall(self) -> datetime:
        return self.first.astimezone(ZoneInfo(self.zone))

    @property
    def _expression(self) -> str:
        wall = self._wall
        days = {
            DAILY: "* * *",
            WEEKLY: f"* * {wall.isoweekday() % 7}",
            MONTHLY: f"{wall.day},L * *" if wall.day > 28 else f"{wall.day} * *",
        }
        return f"{wall.minute} {wall.hour} {days[self.repeat]}"

    def _meant(self, candidate: datetime) -> bool:
        """Of the 31st: the last day of a shorter month, and only then."""
        if self.repeat != MONTHLY:
            return True
        return candidate.day == min(self._wall.day, monthrange(candidate.year, candidate.month)[1])


def rhythm_of(campaign: Campaign) -> Rhythm:
    if campaign.at is None:
        raise ValueError("A series without a first time.")
    return Rhythm(campaign.at, campaign.repeat, campaign.timezone, campaign.until)


def coming(campaign: Campaign, now: datetime, count: int) -> list[datetime]:
    return list(islice(rhythm_of(campaign).after(now), count))


# --- The series' runs -----------------------------------------------------------------------------


def name_of(instant: datetime) -> str:
    """What the unique key calls an occurrence: its instant, whatever the zone it was typed in."""
    return instant.astimezone(UTC).isoformat()


def instant_of(run: Run) -> datetime:
    """When an occurrence of a series was meant to be, wherever it was moved."""
    return datetime.fromisoformat(run.occurrence)


def last_run(campaign_id: int) -> Run | None:
    series = Run.objects.filter(campaign=campaign_id).exclude(occurrence=ONCE)
    return series.order_by("-pk").first()  # one launched again may be due earlier


def left_out(run: Run) -> bool:
    """Whether we skipped it ourselves, because the one before it was still going."""
    by_us = run.cause == "" and run.cause_detail != ""
    return run.state == Run.State.CANCELLED and run.started_at is None and by_us


def stopped(run: Run) -> bool:
    """Whether somebody cancelled the series' last run before it began: that ends the series."""
    unbegun = run.state == Run.State.CANCELLED and run.started_at is None
    return unbegun and not left_out(run)


def going_on(project_id: int) -> list[Run]:
    """The unfinished runs, and the last one of each series that goes on: the next copies it."""
    runs = Run.objects.filter(project=project_id).select_related("campaign")
    goes_on = Q(campaign__until=None) | Q(campaign__until__gt=Now())
    repeating = runs.filter(goes_on, campaign__schedule_kind="recurring").exclude(occurrence=ONCE)
    last = repeating.order_by("campaign_id", "-scheduled_at", "-pk").distinct("campaign_id")
    due_again = [run for run in last if not run.unfinished and not stopped(run)]
    return [*runs.filter(finished_at=None), *due_again]


def repeated(run: Run, at: datetime) -> Run:
    """The same once more. Raises IntegrityError when somebody else was faster."""
    values: dict[str, Any] = {name: getattr(run, name) for name in FROZEN}
    return Run.objects.create(
        **values, occurrence=name_of(at), scheduled_at=at, state=Run.State.SCHEDULED
    )


def one_before_is_going(run: Run) -> Run | None:
    if run.occurrence == ONCE:
        return None
    earlier = Run.objects.filter(campaign=run.campaign_id, finished_at=None)
    return earlier.filter(scheduled_at__lt=run.scheduled_at).exclude(pk=run.pk).first()
