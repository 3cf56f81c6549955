"""People over time: charts of who can be reached, opt-outs and dead addresses.

The counts come from beat's other tick. The overview does not wait for these charts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from campaigns.admin.overview import charts
from campaigns.admin.overview.charts import Axis, Bar, Line
from notifications.admin.ui.axis import Tick
from notifications.admin.ui.current_project import current_project
from notifications.people import figures
from notifications.people.figures import DEAD, OPTED_OUT, REACHABLE, Figure
from notifications.people.project import Project

SPANS = (30, 90, 365)  # days


@dataclass(frozen=True)
class Chart:
    """One number per day, as values and as a chart."""

    name: str  # of its elements on the page
    counts: list[int | None]
    values: list[tuple[str, int | None]]  # the rows of its table
    heights: list[Tick]
    times: list[Tick]
    counted_at: datetime
    bars: list[Bar]
    width: float
    line: Line | None
    is_of_today: bool

    @property
    def known(self) -> list[int]:
        return [count for count in self.counts if count is not None]

    @property
    def today(self) -> int | None:
        """Today's number. None: after midnight, today is not counted yet."""
        return self.newest if self.is_of_today else None

    @property
    def newest(self) -> int:
        return self.known[-1]

    @property
    def total(self) -> int:
        return sum(self.known)

    @property
    def change(self) -> int:
        return self.known[-1] - self.known[0]

    @property
    def drawable(self) -> bool:
        """Whether there is a line to draw: one day makes none."""
        return len(self.known) > 1


def people(request: HttpRequest) -> HttpResponse:
    days_param = request.GET.get("days", "")
    days = int(days_param) if days_param in map(str, SPANS) else SPANS[0]
    context = picture(current_project(request), days, timezone.now())
    return render(request, "admin/overview_people.html", context)


def picture(project: Project | None, days: int, now: datetime) -> dict[str, Any]:
    charts = {
        "reachable": project and _chart(project, REACHABLE, days, now, as_line=True),
        "opted_out": project and _chart(project, OPTED_OUT, days, now),
        "dead": project and _chart(project, DEAD, days, now),
    }
    return {**charts, "days": days, "spans": SPANS, "zone": project.timezone if project else ""}


def _chart(
    project: Project, figure_name: str, days: int, now: datetime, *, as_line: bool = False
) -> Chart | None:
    """The chart of one number. None while nothing was counted."""
    zone = ZoneInfo(project.timezone)
    by_day = _by_day(figures.since(project.pk, figure_name, now - timedelta(days=days)), zone)
    if not by_day:
        return None
    first, last = min(by_day), max(by_day)
    days_shown = [first + timedelta(days=at) for at in range((last - first).days + 1)]
    counts = [by_day[day].count if day in by_day else None for day in days_shown]
    axis = Axis.for_counts([count or 0 for count in counts])
    columns = charts.stacks([[count or 0] for count in counts], axis)
    return Chart(
        name=figure_name.replace("_", "-"),
        counts=counts,
        values=[
            (charts.name_of(day), count) for day, count in zip(days_shown, counts, strict=True)
        ],
        heights=axis.heights,
        times=charts.times(days_shown),
        counted_at=by_day[last].counted_at,
        bars=[] if as_line else [bar for (bar,) in columns if bar],
        width=charts.bar_width(len(days_shown)),
        line=charts.line(counts, axis) if as_line else None,
        is_of_today=last == now.astimezone(zone).date(),
    )


def _by_day(figures: list[Figure], zone: ZoneInfo) -> dict[date, Figure]:
    """The figure of each day. After a change of zone a day may have two: the later one counts."""
    return {day_figure.at.astimezone(zone).date(): day_figure for day_figure in figures}
