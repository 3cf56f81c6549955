"""Forecast charts of a run before its launch: messages sent, and opens, over time."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext as _

from campaigns.forecast.course import Course
from campaigns.forecast.opens import Opens
from campaigns.runs.pages.result.bars import Bars, Called, drawn
from notifications.values.moments import CLOCK, CLOCK_AND_SECOND, SHORT_DAY_AND_CLOCK, local


def draw_course(course: Course | None, zone: str) -> Bars | None:
    """The chart of messages sent over time. None: the course is too short for a chart."""
    if course is None:
        return None
    called = Called("course", _("When they leave"), _("Messages"))
    return _draw_steps(called, course, course.step, course.counts, zone)


def of_opens(course: Course | None, opens: Opens | None, zone: str) -> Bars | None:
    if course is None or opens is None:
        return None
    called = Called("opens", _("When they open it"), _("Opens"))
    return _draw_steps(called, course, opens.step, opens.counts or [], zone)


def _draw_steps(
    called: Called, course: Course, step: int, counts: list[int], zone: str
) -> Bars | None:
    if len(counts) < 2:
        return None
    layout, stretch = _time_format(step, len(counts)), timedelta(seconds=step)
    since = [local(course.starts_at + stretch * at, zone, layout) for at in range(len(counts) + 1)]
    return drawn(called, since, counts)


def _time_format(step: int, steps: int) -> str:
    """The time format, as exact as the shown time span needs."""
    if step * steps >= 86_400:
        return str(SHORT_DAY_AND_CLOCK)
    return str(CLOCK_AND_SECOND if step < 60 else CLOCK)
