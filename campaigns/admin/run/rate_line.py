"""The rate line: an SVG drawn here, so that it needs no script and follows light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from campaigns.planning.course.forecast import number
from campaigns.results.timeline import Timeline, timeline
from campaigns.runs.run import Run
from campaigns.runs.sums import average_rate, totals_of
from notifications.admin.furniture.axis import Mark, nice_top
from notifications.values.moments import (
    CLOCK,
    CLOCK_AND_SECOND,
    SHORT_DAY_AND_CLOCK,
    in_words,
    local,
)

WIDTH, HEIGHT = 600.0, 140.0


@dataclass(frozen=True)
class Value:
    """One point of the line: when its step began, and how fast it was."""

    since: str
    rate: str


@dataclass(frozen=True)
class RateLine:
    """What the template draws, and the same in a sentence for those who cannot see it."""

    points: str
    area: str
    heights: list[Mark]
    times: list[Mark]
    values: list[Value]
    said: str


def rate_line(run: Run, now: datetime) -> RateLine | None:
    """None until there are two points to join."""
    line = timeline(run, now=now)
    if len(line.counts) < 2 or run.started_at is None:
        return None
    top = nice_top(max(line.rates))
    width = WIDTH / (len(line.counts) - 1)
    points = " ".join(
        f"{slot * width:.1f},{HEIGHT - HEIGHT * rate / top:.1f}"
        for slot, rate in enumerate(line.rates)
    )
    return RateLine(
        points=points,
        area=f"0,{HEIGHT:.0f} {points} {WIDTH:.0f},{HEIGHT:.0f}",
        heights=[Mark(100 * (1 - part), number(top * part)) for part in (1.0, 0.5, 0.0)],
        times=_times(run.started_at, line, run.project.timezone),
        values=_values(run.started_at, line, run.project.timezone),
        said=_said(run, line),
    )


def _times(start: datetime, line: Timeline, zone: str) -> list[Mark]:
    seconds, layout = line.step * len(line.counts), _layout(line)
    return [
        Mark(100 * part, local(start + timedelta(seconds=seconds * part), zone, layout))
        for part in (0.0, 0.5, 1.0)
    ]


def _values(start: datetime, line: Timeline, zone: str) -> list[Value]:
    began = [start + timedelta(seconds=line.step * slot) for slot in range(len(line.counts))]
    layout = _layout(line)
    return [
        Value(local(moment, zone, layout), number(rate))
        for moment, rate in zip(began, line.rates, strict=True)
    ]


def _layout(line: Timeline) -> str | Promise:
    """As exact as the time it shows needs."""
    seconds = line.step * len(line.counts)
    if seconds >= 86_400:
        return SHORT_DAY_AND_CLOCK
    return CLOCK_AND_SECOND if seconds < 600 or line.step < 60 else CLOCK


def _said(run: Run, line: Timeline) -> str:
    return _("Requests a second, every %(step)s: at most %(most)s, on average %(mean)s.") % {
        "step": in_words(line.step),
        "most": number(max(line.rates)),
        "mean": number(_mean(run, line)),
    }


def _mean(run: Run, line: Timeline) -> float:
    """Of an ended run the one that stands above the line; of one that goes on, of what is drawn."""
    if run.started_at and run.finished_at:
        return average_rate(totals_of(run).sent, run.started_at, run.finished_at)
    return sum(line.rates) / len(line.rates)
