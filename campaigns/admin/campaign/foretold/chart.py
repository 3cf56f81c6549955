"""The bars of a run that is not launched yet: how many messages leave when."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext as _

from campaigns.admin.run.result.echo import Bars
from campaigns.planning.course.course import Course
from notifications.admin.furniture.axis import Mark, nice_top
from notifications.values.moments import CLOCK, CLOCK_AND_SECOND, SHORT_DAY_AND_CLOCK, local


def of(course: Course | None, zone: str) -> Bars | None:
    """None: too short for a drawing."""
    if course is None or len(course.counts) < 2:
        return None
    counts, stretch = course.counts, timedelta(seconds=course.step)
    top, each = nice_top(max(2, *counts)), 600 / len(counts)
    layout = _layout(course)
    since = [local(course.starts_at + stretch * at, zone, layout) for at in range(len(counts) + 1)]
    return Bars(
        name="course",
        title=_("When they leave"),
        label=_("Messages"),
        bars=[(f"{each * at:.1f}", f"{140 * count / top:.1f}") for at, count in enumerate(counts)],
        each=f"{each * 0.8:.1f}",
        heights=[Mark(100 * (1 - part), f"{top * part:,.0f}") for part in (1.0, 0.5, 0.0)],
        times=[Mark(0, since[0]), Mark(50, since[len(counts) // 2]), Mark(100, since[-1])],
        values=list(zip(since, counts, strict=False)),
    )


def _layout(course: Course) -> str:
    """As exact as the time it shows needs."""
    if course.step * len(course.counts) >= 86_400:
        return str(SHORT_DAY_AND_CLOCK)
    return str(CLOCK_AND_SECOND if course.step < 60 else CLOCK)
