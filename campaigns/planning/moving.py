"""Moving: gives a scheduled run, or one occurrence of a series, another time. What is sent stays as
it was launched.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import days_off, moved_occurrences
from campaigns.planning.repeats.moved_occurrences import Occurrence
from campaigns.runs import series
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE, instant_of, name_of
from notifications.staff import audit
from notifications.values.moments import short

BY_THE_CLOCK = gettext_lazy(
    "This one goes by each reader's clock. Cancel it, change the campaign's time, and launch it "
    "again."
)
SERIES_BY_THE_CLOCK = gettext_lazy(
    "This series goes by each reader's clock, and none of it is moved. Leave one out, or stop "
    "the series, change its times, and launch it again."
)
A_DAY = timedelta(days=1)


class NotMoved(Run.InvalidMove):
    """The run stays where it was; the message says why and what to do."""


class WrongTime(NotMoved):
    """The run may be moved, but not to this time."""


class NoSuchOne(NotMoved):
    """No occurrence of the series is due at this time."""


class MovedMeanwhile(NotMoved):
    """The run was moved or started in the meantime. The message is meant for a dialog."""

    def __init__(self) -> None:
        super().__init__(
            _("It was moved or started in the meantime. Close this dialog and check again.")
        )


def fixed(run: Run) -> str:
    """Return why the run cannot be moved at all, or an empty string."""
    if run.state != Run.State.SCHEDULED:
        state = run.get_state_display().lower()
        return _("Only a scheduled run can be moved; this one is %(state)s.") % {"state": state}
    if run.hour is not None:
        return str(BY_THE_CLOCK if run.occurrence == ONCE else SERIES_BY_THE_CLOCK)
    return ""


def problem(run: Run, to: datetime, now: datetime) -> str:
    """Return why the run cannot be moved to `to`, or an empty string."""
    if why := fixed(run):
        return why
    if to <= now:
        return _("This time has passed. Choose a later one.")
    if to == run.scheduled_at:
        return _("It is due at this time already. Choose another one.")
    following = _next_due(run)
    if following is not None and to >= following:
        when = short(following, run.campaign.timezone)
        return _("The next one is due on %(when)s. Move it to before that.") % {"when": when}
    if _is_in_series(run) and (until := run.campaign.until) is not None and to > until:
        when = short(until, run.campaign.timezone)
        return _("Its series ends on %(when)s. Move it to before that.") % {"when": when}
    return ""


def _next_due(run: Run) -> datetime | None:
    if not _is_in_series(run):
        return None
    after = run.campaign.rhythm.next_after(instant_of(run))
    return min(after, moved_occurrences.due(run.campaign, after)) if after else None


def _is_in_series(run: Run) -> bool:
    return run.occurrence != ONCE and run.campaign.schedule_kind == Campaign.Schedule.RECURRING


def move(run: Run, *, to: datetime, was: datetime, by: str, now: datetime) -> None:
    """Move the run with one guarded UPDATE: of two people who move it at once, or beat that starts
    it, one wins."""
    with transaction.atomic():
        if run.occurrence != ONCE:
            # Without this lock, another person may move the next one at the same time. Both moves
            # would pass the check, and one run would never be made.
            run.campaign = Campaign.locked(run.campaign.pk)
        if why := problem(run, to, now):
            raise (NotMoved if fixed(run) else WrongTime)(why)
        waiting = Run.objects.filter(pk=run.pk, state=Run.State.SCHEDULED, scheduled_at=was)
        if not waiting.update(scheduled_at=to):
            run.refresh_from_db()
            raise MovedMeanwhile
        changes = [was.isoformat(), to.isoformat()]
        audit.record(
            by,
            gettext_noop("moved"),
            run,
            project=run.project,
            changes={"scheduled_at": changes},
            campaign=run.campaign.name,
        )
        if run.occurrence == ONCE and _keep_time(run, to):
            # A person who edits the campaign meanwhile learns who changed it.
            campaign = run.campaign
            audit.record(
                by, gettext_noop("changed"), campaign, project=run.project, changes={"at": changes}
            )
    run.scheduled_at = to


def move_one(
    campaign: Campaign,
    at: datetime,
    *,
    to: datetime,
    was: datetime | None,
    by: str,
    now: datetime,
) -> None:
    """Move one occurrence of a running series that has no run yet; the others stay. `was`: when it
    was due as the caller saw it. Raises NotMoved."""
    to = to.replace(microsecond=0)  # the calendar names it by its second
    with transaction.atomic():
        locked = Campaign.locked(campaign.pk)
        due_occurrence = occurrence(locked, at, now)
        if was is not None and was != due_occurrence.due:
            raise MovedMeanwhile
        if why := problem_of_one(locked, due_occurrence, to, now):
            raise WrongTime(why)
        try:
            moves = moved_occurrences.add_move(locked, due_occurrence, to, now)
        except ValueError as error:
            raise NotMoved(str(error)) from error
        Campaign.objects.filter(pk=locked.pk).update(moved=moves)
        changes = [due_occurrence.due.isoformat(), to.isoformat()]
        audit.record(
            by, gettext_noop("moved"), locked, project=locked.project,
            changes={"scheduled_at": changes},
        )  # fmt: skip
    campaign.moved = moves


def leave_out_one(
    campaign: Campaign, at: datetime, *, was: datetime | None, by: str, now: datetime
) -> None:
    """Leave out one occurrence of a running series that has no run yet: its day becomes a day off,
    like those that people set. Raises NotMoved."""
    with transaction.atomic():
        locked = Campaign.locked(campaign.pk)
        due_occurrence = occurrence(locked, at, now)
        if was is not None and was != due_occurrence.due:
            raise MovedMeanwhile
        if why := alone_problem(locked, due_occurrence, now):
            raise NotMoved(why)
        off = days_off.parse(locked.days_off) | {_day_of(locked, due_occurrence.instant)}
        try:
            days_off.count(off)
        except ValueError as error:
            raise NotMoved(str(error)) from error
        moves = {
            name: to for name, to in locked.moved.items() if name != name_of(due_occurrence.instant)
        }
        changes = {"days_off": [locked.days_off, days_off.written(off)]}
        locked.days_off, locked.moved = days_off.written(off), moves
        locked.save(update_fields=["days_off", "moved"])
        audit.record(by, gettext_noop("changed"), locked, project=locked.project, changes=changes)
    campaign.days_off, campaign.moved = locked.days_off, moves


def alone_problem(campaign: Campaign, one: Occurrence, now: datetime) -> str:
    """Return why the occurrence cannot be left out alone, or an empty string."""
    last, day = campaign.series, _day_of(campaign, one.instant)
    if last is None:
        return ""
    other_occurrences = (
        other for other in _iter_coming(campaign, last, now) if other.instant != one.instant
    )
    near = list(takewhile(lambda other: other.instant < one.instant + 2 * A_DAY, other_occurrences))
    if any(_day_of(campaign, other.instant) == day for other in near):
        return _("There are several on this day. Move it, or make the day one of the days off.")
    return ""


def _day_of(campaign: Campaign, instant: datetime) -> date:
    """Return the date of this instant on the clock of the campaign's series."""
    return instant.astimezone(ZoneInfo(campaign.timezone)).date()


def occurrence(campaign: Campaign, at: datetime, now: datetime) -> Occurrence:
    """Return the occurrence that is due at this time and has no run yet. Raises NotMoved."""
    last = campaign.series
    if last is None or campaign.archived_at or not series.goes_on(last, now):
        raise NotMoved(_("“%(campaign)s” does not repeat.") % {"campaign": campaign})
    if at in (last.scheduled_at, instant_of(last)):
        text = _("That one is run %(number)d already. Move the run.")
        raise NotMoved(text % {"number": last.pk})
    try:
        matching, _next = moved_occurrences.find_occurrence(
            _iter_coming(campaign, last, now), at, campaign.timezone
        )
    except ValueError as error:
        raise NoSuchOne(str(error)) from error
    return matching


def problem_of_one(campaign: Campaign, one: Occurrence, to: datetime, now: datetime) -> str:
    """Return why the occurrence cannot be moved to `to`, or an empty string."""
    last = campaign.series
    if last is None:
        return ""
    if campaign.local_time:
        return str(SERIES_BY_THE_CLOCK)
    _one, following = moved_occurrences.find_occurrence(
        _iter_coming(campaign, last, now), one.instant, campaign.timezone
    )
    coming = _iter_coming(campaign, last, now)
    earlier = takewhile(lambda other: other.instant < one.instant, coming)
    before = max([_first_moment(last, now), *(max(other.due, other.instant) for other in earlier)])
    return moved_occurrences.problem(campaign, one, to, before=before, following=following, now=now)


def _iter_coming(campaign: Campaign, last: Run, now: datetime) -> Iterator[Occurrence]:
    return moved_occurrences.after(campaign, _first_moment(last, now), last)


def _first_moment(last: Run, now: datetime) -> datetime:
    return max(now, last.scheduled_at, instant_of(last))


def _keep_time(run: Run, to: datetime) -> int:
    timed = Campaign.objects.filter(pk=run.campaign.pk, schedule_kind=Campaign.Schedule.AT)
    return timed.update(at=to)
