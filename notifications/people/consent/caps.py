"""Caps: how often may the same person be rung?

A project says how many messages a person gets in 24 hours and in seven days, and how long lies
between two at least; a category whether its messages keep to that, and whether they count. What is
transactional counts and is never held back; what is critical neither counts nor waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from notifications.people.consent.category import Category
from notifications.people.project import Project

A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)  # back from this moment, in every zone


@dataclass(frozen=True)
class Caps:
    """Those that a message keeps to; None: no limit of this kind."""

    per_day: int | None
    per_week: int | None
    gap: timedelta | None
    holds: bool  # who has had enough gets nothing; else it only counts


def of(project: Project, kind: str, slug: str) -> Caps | None:
    """Those of a message of this category; None: it neither keeps to any nor counts."""
    limits = (project.cap_per_day, project.cap_per_week, project.cap_gap_minutes)
    if limits == (None, None, None) or kind == Category.Kind.CRITICAL:
        return None
    keeps = _said_by(project, slug)
    if keeps == Category.Caps.FREE:
        return None
    per_day, per_week, minutes = limits
    gap = None if minutes is None else timedelta(minutes=minutes)
    holds = kind != Category.Kind.TRANSACTIONAL and keeps == Category.Caps.KEEP
    return Caps(per_day, per_week, gap, holds)


def _said_by(project: Project, slug: str) -> str:
    named = Category.objects.filter(project=project.pk, slug=slug) if slug else None
    said = named and named.values_list("caps", flat=True).first()
    return said or Category.Caps.KEEP
