"""Caps: how often may the same person be rung?

A project says how many messages a person gets in 24 hours and in seven days, and how long lies
between two at least; a category whether its messages keep to that, whether they count, and how many
of its own are enough. What is transactional counts and is never held back; what is critical neither
counts nor waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from notifications.people.consent.category import Category
from notifications.people.project import Project

A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)  # back from this moment, in every zone


@dataclass(frozen=True)
class Limits:
    """None: no limit of this kind."""

    per_day: int | None = None
    per_week: int | None = None
    gap: timedelta | None = None

    @property
    def each(self) -> list[tuple[timedelta, int]]:
        """So many within so long are enough."""
        said = [(A_DAY, self.per_day), (A_WEEK, self.per_week), (self.gap, self.gap and 1)]
        return [(period, most) for period, most in said if period and most]


@dataclass(frozen=True)
class Caps:
    """Those that a message keeps to: all of them."""

    overall: Limits  # of whatever is sent to a person
    own: Limits  # of what is sent to them of its category
    category: int | None
    holds: bool  # who has had enough gets nothing; else it only counts

    @property
    def longest(self) -> timedelta:
        """What is older says nothing any more."""
        return max(period for period, _ in [*self.overall.each, *self.own.each])


def for_category(project: Project, kind: str, slug: str, *, past: bool = False) -> Caps | None:
    """Those of a message of this category; one that goes `past` them only counts. None: it neither
    keeps to any nor counts."""
    overall = _said_by(project)
    if kind == Category.Kind.CRITICAL:
        return None
    if overall == Limits() and (not slug or kind == Category.Kind.TRANSACTIONAL):
        return None
    named = Category.objects.filter(project=project.pk, slug=slug).first() if slug else None
    keeps = named.caps if named else Category.Caps.KEEP
    holds = kind != Category.Kind.TRANSACTIONAL and keeps == Category.Caps.KEEP
    own = _said_by(named) if named and holds else Limits()
    if keeps == Category.Caps.FREE or overall == own == Limits():
        return None
    return Caps(overall, own, named.pk if named else None, holds and not past)


def _said_by(row: Project | Category) -> Limits:
    minutes = row.cap_gap_minutes
    gap = None if minutes is None else timedelta(minutes=minutes)
    return Limits(row.cap_per_day, row.cap_per_week, gap)
