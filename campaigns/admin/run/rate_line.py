"""The rate line: an SVG drawn here, so that it needs no script and follows light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from campaigns.results.timeline import Timeline, timeline
from campaigns.results.why_this_rate import number
from campaigns.runs.run import Run
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
class RateLine:
    """What the template draws, and the same in a sentence for those who cannot see it."""

    points: str
    area: str
    heights: list[Mark]
    times: list[Mark]
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
        said=_said(line),
    )


def _times(start: datetime, line: Timeline, zone: str) -> list[Mark]:
    seconds = line.step * len(line.counts)
    layout = SHORT_DAY_AND_CLOCK
    if seconds < 86_400:
        layout = CLOCK_AND_SECOND if seconds < 600 else CLOCK
    return [
        Mark(100 * part, local(start + timedelta(seconds=seconds * part), zone, layout))
        for part in (0.0, 0.5, 1.0)
    ]


def _said(line: Timeline) -> str:
    return _("Requests a second, every %(step)s: at most %(most)s, on average %(mean)s.") % {
        "step": in_words(line.step),
        "most": number(max(line.rates)),
        "mean": number(sum(line.rates) / len(line.rates)),
    }
