"""Recurrence: when does a campaign that repeats go out, and which run comes next?

A launch freezes the whole series: every later run copies text, rules and settings of the one
before it, so what was reviewed is what goes out. Only the next run exists as a row; `schedule.py`
makes it the moment the one before it is due.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count, islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from campaigns.run import HOLDS, POLICY, WAITS, Run

if TYPE_CHECKING:
    from campaigns.campaign import Campaign

ONCE = "once"
DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"
MINUTE = timedelta(minutes=1)
# Frozen by a launch, and handed from each run of a series to the next.
FROZEN = ("project_id", "campaign_id", "content", "rules", *POLICY, "launched_by")


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
        """Every occurrence later than `moment`: one for each day, week or month of the calendar."""
        for number in count(self._just_before(moment)):
            instant = self._occurrence(number)
            if self.until is not None and instant > self.until:
                return
            if instant > moment:
                yield instant

    @property
    def _wall(self) -> datetime:
        return self.first.astimezone(ZoneInfo(self.zone))

    def _just_before(self, moment: datetime) -> int:
        """The number of one that is surely not later."""
        today, start = moment.astimezone(ZoneInfo(self.zone)).date(), self._wall.date()
        months = 12 * (today.year - start.year) + today.month - start.month
        days = (today - start).days
        return max(0, {DAILY: days, WEEKLY: days // 7, MONTHLY: months}[self.repeat] - 1)

    def _occurrence(self, number: int) -> datetime:
        if number == 0:
            return self.first  # in an hour that comes twice it may be the second
        return first_showing(datetime.combine(self._day(number), self._wall.time()), self.zone)

    def _day(self, number: int) -> date:
        """Of the 31st: the last day of a shorter month."""
        start = self._wall.date()
        if self.repeat != MONTHLY:
            return start + number * timedelta(days=7 if self.repeat == WEEKLY else 1)
        years, month = divmod(start.month - 1 + number, 12)
        year, month = start.year + years, month + 1
        return date(year, month, min(start.day, monthrange(year, month)[1]))


def first_showing(wall: datetime, zone: str) -> datetime:
    """When clocks there show it for the first time; if they skip it, the moment they are set."""
    place = ZoneInfo(zone)
    first, second = (wall.replace(tzinfo=place, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first <= second:
        return first

    # Skipped: by the old offset it lies behind the change, by the new one before it.
    def is_past(minute: int) -> bool:
        return (second + minute * MINUTE).astimezone(place).replace(tzinfo=None) > wall

    return second + MINUTE * bisect_left(range((first - second) // MINUTE), True, key=is_past)


def rhythm_of(campaign: Campaign) -> Rhythm:
    if campaign.at is None:
        raise ValueError("A series without a first time.")
    return Rhythm(campaign.at, campaign.repeat, campaign.timezone, campaign.until)


def coming(campaign: Campaign, after: datetime, most: int) -> list[datetime]:
    """The next occurrences that no run holds: one that was moved ahead may have been sent."""
    free = (at for at in rhythm_of(campaign).after(after) if not _is_held(campaign, at))
    return list(islice(free, most))


def _is_held(campaign: Campaign, at: datetime) -> bool:
    return Run.objects.filter(HOLDS, campaign=campaign.pk, occurrence=name_of(at)).exists()


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


def waiting(campaign_id: int) -> QuerySet[Run]:
    """Those that have not begun."""
    return Run.objects.filter(WAITS, campaign=campaign_id).exclude(occurrence=ONCE)


def following(last: Run, now: datetime) -> datetime | None:
    """When the one after the last is due, if that is not the end of the series."""
    # One that was moved ahead is still the run of its own occurrence.
    since = max(now, last.scheduled_at, instant_of(last))
    return next(iter(coming(last.campaign, since, 1)), None)


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


def left_out(run: Run) -> bool:
    """Cancelled before it began, by us or by a person, while its series goes on: the row says so.

    The release before reads a detail without a cause as this, too.
    """
    alone = run.cause == "" and run.cause_detail != ""
    return run.state == Run.State.CANCELLED and run.started_at is None and alone


def stopped(last: Run) -> bool:
    """Whether somebody ended the series with its last run.

    The release before does that by cancelling it before it began, and so does whoever cancels an
    occurrence that none follows.
    """
    unbegun = last.state == Run.State.CANCELLED and last.started_at is None
    return last.series_stopped_at is not None or (unbegun and not left_out(last))


def going_on(project_id: int) -> list[Run]:
    """The unfinished runs, and the last one of each series that goes on: the next copies it."""
    runs = Run.objects.filter(project=project_id).select_related("campaign")
    may_go_on = Q(campaign__until=None) | Q(campaign__until__gt=Now())
    repeating = runs.filter(may_go_on, campaign__schedule_kind="recurring").exclude(occurrence=ONCE)
    last = repeating.order_by("campaign_id", "-pk").distinct("campaign_id")
    due_again = [run for run in last if not run.unfinished and not stopped(run)]
    return [*runs.filter(finished_at=None), *due_again]


def repeated(run: Run, at: datetime) -> Run:
    """The same once more. Raises IntegrityError when somebody else was faster."""
    values: dict[str, Any] = {name: getattr(run, name) for name in FROZEN}
    return Run.objects.create(
        **values, occurrence=name_of(at), scheduled_at=at, state=Run.State.SCHEDULED
    )


def one_before_is_going(run: Run) -> Run | None:
    """Not one that goes on only because a person sends again to a few of it."""
    if run.occurrence == ONCE:
        return None
    earlier = Run.objects.filter(campaign=run.campaign_id, scheduled_at__lt=run.scheduled_at)
    return earlier.filter(finished_at=None, reopened_at=None).exclude(pk=run.pk).first()
