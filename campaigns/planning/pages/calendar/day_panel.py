"""Day panel of the calendar: a day's use of the quota, and people who would get two messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.figures.hours import hours_of, of_day
from campaigns.forecast.other_runs import firebase_projects
from campaigns.forecast.other_runs.collisions import Collision, DayCollisions, collisions
from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.planned_runs import Planned, compute_runs, list_all_planned
from campaigns.planning.calendar import Entry
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages.calendar.hourly_heatmap import Heat, heat
from campaigns.planning.pages.calendar.span import Span
from notifications.people.project import Project

A_DAY = timedelta(days=1)


@dataclass(frozen=True)
class DayQuota:
    date: date
    heat: Heat | None  # None: nothing is used
    pairs: list[str]


def days(
    project: Project, campaigns: QuerySet[Campaign], span: Span, now: datetime
) -> tuple[list[DayQuota], int]:
    """Days with something to show, and how many runs their lines leave out."""
    firebase_project = firebase_projects.for_project(project)
    all_planned = list_all_planned(firebase_project, span.since, span.until, now)
    pairs = collisions(_group_by_day(all_planned, campaigns, span))
    coming = compute_runs(firebase_project, all_planned, span.since)
    quotas = [
        DayQuota(
            day,
            line if line.any else None,
            _describe_pairs(pairs[day], span) if day in pairs else [],
        )
        for day, line in _lines(firebase_project, coming.runs, span, now)
    ]
    return [quota for quota in quotas if quota.heat or quota.pairs], coming.more


def _group_by_day(
    all_planned: Sequence[Planned], campaigns: QuerySet[Campaign], span: Span
) -> dict[date, list[Entry]]:
    entries = [
        planned.entry for planned in all_planned if planned.entry and span.holds(planned.entry)
    ]
    ids = {entry.campaign.pk for entry in entries}
    mine = {*campaigns.filter(pk__in=ids).values_list("pk", flat=True)}
    by_day: defaultdict[date, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.campaign.pk in mine:
            by_day[span.time_of(entry).date()].append(entry)
    return {day: entries for day, entries in by_day.items() if len(entries) > 1}


def _lines(
    firebase_project: Firebase, runs: Sequence[Planned], span: Span, now: datetime
) -> Iterator[tuple[date, Heat]]:
    dates = [day for week in span.weeks for day in week]
    begins = [of_day(span.midnight(day), span.midnight(day + A_DAY)) for day in dates]
    hours = iter(
        hours_of(firebase_project, runs, [at for starts in begins for at in starts], now).hours
    )
    for day, starts in zip(dates, begins, strict=True):
        yield day, heat([next(hours) for _at in starts], span.zone)


def _describe_pairs(collided: DayCollisions, span: Span) -> list[str]:
    """The pairs as texts, most people first. A month's cell has room for one."""
    most_first = sorted(collided.pairs, key=lambda pair: -(pair.both.people if pair.both else 0))
    listed = most_first[:1] if span.view == "month" else most_first
    texts = [_describe_pair(pair) for pair in listed]
    if more := len(most_first) - len(listed):
        words = ngettext("And %(count)s more pair.", "And %(count)s more pairs.", more)
        texts.append(words % {"count": more})
    if collided.left:
        words = ngettext(
            "%(count)s more pair was not counted.",
            "%(count)s more pairs were not counted.",
            collided.left,
        )
        texts.append(words % {"count": collided.left})
    return texts


def _describe_pair(pair: Collision) -> str:
    names = {"one": pair.one, "other": pair.other}
    if pair.both is None:
        return _("How many would get both “%(one)s” and “%(other)s” was not counted.") % names
    people = pair.both.people
    text = ngettext(
        "%(count)s person would get both “%(one)s” and “%(other)s”.",
        "%(count)s people would get both “%(one)s” and “%(other)s”.",
        people,
    )
    count = f"{people:,}"
    return text % {**names, "count": count if pair.both.exact else _("About %s") % count}
