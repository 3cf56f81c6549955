"""Frequency caps: how many messages the same person may get in a period.

A project sets how many messages a person gets in 24 hours and in seven days, and the shortest time
between two. A category sets whether its messages obey these caps, whether they count, and caps of
its own. Transactional messages count, but are never held back. Critical messages neither count nor
wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from notifications.people.consent.category import Category
from notifications.people.project import Project

A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)  # back from now, in every time zone


@dataclass(frozen=True)
class Limits:
    """The limits of a project or a category; None: no limit of this kind."""

    per_day: int | None = None
    per_week: int | None = None
    gap: timedelta | None = None

    @property
    def each(self) -> list[tuple[timedelta, int]]:
        """The limits that are set, as pairs of a period and the most messages in it."""
        limits = [(A_DAY, self.per_day), (A_WEEK, self.per_week), (self.gap, self.gap and 1)]
        return [(period, most) for period, most in limits if period and most]


@dataclass(frozen=True)
class Caps:
    """The caps that a message obeys: all of them."""

    overall: Limits  # for all messages to a person
    own: Limits  # for messages of the same category
    category: int | None
    holds: bool  # True: people at a limit are skipped. False: the message only counts

    @property
    def longest(self) -> timedelta:
        """The longest period of any limit: older messages do not matter."""
        return max(period for period, _ in [*self.overall.each, *self.own.each])


def for_category(project: Project, kind: str, slug: str, *, past: bool = False) -> Caps | None:
    """The caps of a message of this category; None: it obeys none and does not count.

    `past`: the message ignores the caps, but counts.
    """
    overall = _limits_of(project)
    if kind == Category.Kind.CRITICAL:
        return None
    if overall == Limits() and (not slug or kind == Category.Kind.TRANSACTIONAL):
        return None
    category = Category.objects.filter(project=project.pk, slug=slug).first() if slug else None
    keeps = category.caps if category else Category.Caps.KEEP
    holds = kind != Category.Kind.TRANSACTIONAL and keeps == Category.Caps.KEEP
    own = _limits_of(category) if category and holds else Limits()
    if keeps == Category.Caps.FREE or overall == own == Limits():
        return None
    return Caps(overall, own, category.pk if category else None, holds and not past)


def _limits_of(row: Project | Category) -> Limits:
    minutes = row.cap_gap_minutes
    gap = None if minutes is None else timedelta(minutes=minutes)
    return Limits(row.cap_per_day, row.cap_per_week, gap)
