"""Day panel of the calendar: a day's use of the quota, and people who would get two messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.admin.calendar.quota.hourly_heatmap import Heat, heat
from campaigns.admin.calendar.span import Span
from campaigns.figures.hours import hours_of, of_day
from campaigns.planning.calendar import Entry
from campaigns.planning.campaign import Campaign
from campaigns.planning.collisions.collisions import Collision, DayCollisions, collisions
from campaigns.planning.quota import firebase
from campaigns.planning.quota.firebase import Firebase
from campaigns.planning.quota.planned import Planned, list_all_planned, reckoned_of
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
    there = firebase.for_project(project)
    found = list_all_planned(there, span.since, span.until, now)
    pairs = collisions(_planned(found, campaigns, span))
    coming = reckoned_of(there, found, span.since)
    told = [
        DayQuota(day, line if line.any else None, _said(pairs[day], span) if day in pairs else [])
        for day, line in _lines(there, coming.runs, span, now)
    ]
    return [one for one in told if one.heat or one.pairs], coming.more


def _planned(
    all_planned: Sequence[Planned], campaigns: QuerySet[Campaign], span: Span
) -> dict[date, list[Entry]]:
    entries = [one.entry for one in all_planned if one.entry and span.holds(one.entry)]
    ids = {entry.campaign.pk for entry in entries}
    mine = {*campaigns.filter(pk__in=ids).values_list("pk", flat=True)}
    found: defaultdict[date, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.campaign.pk in mine:
            found[span.of(entry).date()].append(entry)
    return {day: entries for day, entries in found.items() if len(entries) > 1}


def _lines(
    there: Firebase, runs: Sequence[Planned], span: Span, now: datetime
) -> Iterator[tuple[date, Heat]]:
    dates = [day for week in span.weeks for day in week]
    begins = [of_day(span.midnight(day), span.midnight(day + A_DAY)) for day in dates]
    hours = iter(hours_of(there, runs, [at for each in begins for at in each], now).hours)
    for day, each in zip(dates, begins, strict=True):
        yield day, heat([next(hours) for _at in each], span.zone)


def _said(found: DayCollisions, span: Span) -> list[str]:
    """The pairs as texts, most people first. A month's cell has room for one."""
    most_first = sorted(found.pairs, key=lambda pair: -(pair.both.people if pair.both else 0))
    shown = most_first[:1] if span.view == "month" else most_first
    said = [_words(pair) for pair in shown]
    if more := len(most_first) - len(shown):
        words = ngettext("And %(count)s more pair.", "And %(count)s more pairs.", more)
        said.append(words % {"count": more})
    if found.left:
        words = ngettext(
            "%(count)s more pair was not counted.",
            "%(count)s more pairs were not counted.",
            found.left,
        )
        said.append(words % {"count": found.left})
    return said


def _words(pair: Collision) -> str:
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
