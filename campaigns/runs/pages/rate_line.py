"""Rate line: an SVG chart made here, so that it needs no script and follows light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from campaigns.forecast.course import Course
from campaigns.forecast.rate_forecast import number
from campaigns.launch_check import stored_forecast
from campaigns.results.timeline import Timeline, timeline
from campaigns.runs.run import Run
from campaigns.runs.sums import average_rate, totals_of
from notifications.admin.ui.axis import Tick, nice_top
from notifications.values.moments import (
    CLOCK,
    CLOCK_AND_SECOND,
    SHORT_DAY_AND_CLOCK,
    in_words,
    in_zone,
    local,
)

WIDTH, HEIGHT = 600.0, 140.0
# The forecast is drawn this many times as far as the run has come: a long day's forecast would
# make the run's own line too small to see.
AHEAD = 4
AT_LEAST = timedelta(minutes=1)


@dataclass(frozen=True)
class Value:
    """One point of the lines: the start of its step, the rate, and the forecast rate."""

    since: str
    rate: str
    foreseen: str


@dataclass(frozen=True)
class RateLine:
    """What the template draws, and the same as a sentence for those who cannot see it."""

    points: str
    area: str
    plan: str  # the points of the forecast; empty: there is none
    heights: list[Tick]
    times: list[Tick]
    values: list[Value]
    in_words: str
    plan_said: str


def rate_line(run: Run, now: datetime) -> RateLine | None:
    """The rate line of a run. None until there are two points to join."""
    if run.started_at is None:
        return None
    course = stored_forecast.load_course(run)
    drawn = _drawn_span(course, (run.finished_at or now) - run.started_at)
    line = timeline(run, now=now, within=drawn)
    plan = _plan(course, line.step, drawn)
    rates = line.rates if len(line.counts) > 1 else []
    slots = max(len(rates), len(plan))
    if slots < 2 or not line.counts:
        return None
    # A single rate makes no line yet, but the text below names it, so it is on the axis.
    top, axis = nice_top(max(*line.rates, *plan, 0, 0)), _Axis(run, line.step, slots)
    points = _points(rates, slots, top)
    return RateLine(
        points=points,
        area=_area(points, len(rates), slots),
        plan=_points(plan, slots, top),
        heights=[Tick(100 * (1 - part), number(top * part)) for part in (1.0, 0.5, 0.0)],
        times=[Tick(100 * part, axis.time(slots * part)) for part in (0.0, 0.5, 1.0)],
        values=[
            Value(axis.time(slot), _number(rate), _number(planned))
            for slot, (rate, planned) in enumerate(zip_longest(rates, plan))
        ],
        in_words=_describe_rates(run, line),
        plan_said=_describe_plan(course, run, drawn),
    )


class _Axis:
    """The time axis, in steps from the run's start, as exact as the shown time span needs."""

    def __init__(self, run: Run, step: int, slots: int) -> None:
        assert run.started_at
        self._start, self._zone, self._step = run.started_at, run.project.timezone, step
        seconds = step * slots
        self._layout: str | Promise = CLOCK_AND_SECOND if seconds < 600 or step < 60 else CLOCK
        if seconds >= 86_400:
            self._layout = SHORT_DAY_AND_CLOCK

    def time(self, slot: float) -> str:
        return local(self._start + timedelta(seconds=self._step * slot), self._zone, self._layout)


def _drawn_span(course: Course | None, passed: timedelta) -> timedelta:
    """How much of the forecast is drawn."""
    if course is None:
        return timedelta()
    whole = timedelta(seconds=course.step * len(course.counts))
    return min(whole, max(AHEAD * passed, AT_LEAST))


def _plan(course: Course | None, step: int, drawn: timedelta) -> list[float]:
    if course is None:
        return []
    counts = stored_forecast.in_steps(course.counts, course.step, step)
    return [count / step for count in counts[: -(-int(drawn.total_seconds()) // step)]]


def _points(rates: Sequence[float], slots: int, top: float) -> str:
    width = WIDTH / (slots - 1)
    return " ".join(
        f"{slot * width:.1f},{HEIGHT - HEIGHT * rate / top:.1f}" for slot, rate in enumerate(rates)
    )


def _area(points: str, many: int, slots: int) -> str:
    """The points of the area below the line."""
    if not points:
        return ""
    end = WIDTH * (many - 1) / (slots - 1)
    return f"0,{HEIGHT:.0f} {points} {end:.1f},{HEIGHT:.0f}"


def _number(rate: float | None) -> str:
    return "–" if rate is None else number(rate)


def _describe_rates(run: Run, line: Timeline) -> str:
    return _("Requests a second, every %(step)s: at most %(most)s, on average %(mean)s.") % {
        "step": in_words(line.step),
        "most": number(max(line.rates)),
        "mean": number(_mean(run, line)),
    }


def _describe_plan(course: Course | None, run: Run, drawn: timedelta) -> str:
    if course is None or course.ends_at is None:
        return ""
    lasts = timedelta(seconds=course.step * len(course.counts))
    time = in_zone(course.ends_at, run.project.timezone, seconds=lasts < timedelta(hours=1))
    params = {"count": f"{course.sent:,}", "time": time}
    if course.exact:
        text = _("Dashed: as foreseen when it began. %(count)s messages, the last at %(time)s.")
    else:
        text = _(
            "Dashed: as foreseen when it began. About %(count)s messages, the last at about "
            "%(time)s."
        )
    if drawn < lasts and run.finished_at is None:
        more = _("More of it is drawn as the run goes on.")
        text = f"{text} {more}"
    return text % params


def _mean(run: Run, line: Timeline) -> float:
    """The mean rate: of an ended run, the one shown above; of a running one, that of the line."""
    if run.started_at and run.finished_at:
        return average_rate(totals_of(run).sent, run.started_at, run.finished_at)
    return sum(line.rates) / len(line.rates)
