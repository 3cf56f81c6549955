"""Bar chart over time: an SVG made here, and the same numbers below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from notifications.admin.ui.axis import Tick, nice_top

WIDTH, HEIGHT = 600.0, 140.0
WIDE = 0.8  # a bar's share of its slot


@dataclass(frozen=True)
class Called:
    name: str  # in the page, and of exported files
    title: str
    label: str  # of the numbers


@dataclass(frozen=True)
class Value:
    """One stretch of time: its start, its count, and the forecast count."""

    since: str
    count: str
    foreseen: str


@dataclass(frozen=True)
class Bars:
    """A bar chart: the count in each stretch of time."""

    called: Called
    bars: list[tuple[str, str]]  # position and height of each
    each: str  # the width of a bar
    plan: str  # the points of the forecast; empty: there is none
    heights: list[Tick]
    times: list[Tick]
    values: list[Value]
    plan_said: str = ""


def drawn(
    called: Called,
    since: Sequence[str],
    counts: Sequence[float],
    plan: Sequence[float] = (),
    plan_said: str = "",
) -> Bars:
    """Build the chart. `since`: when each stretch begins, and when the last one ends."""
    places = len(since) - 1
    top, slot_width = nice_top(max(2, *counts, *plan)), WIDTH / places
    return Bars(
        called=called,
        bars=[(f"{slot_width * at:.1f}", f"{HEIGHT * n / top:.1f}") for at, n in enumerate(counts)],
        each=f"{slot_width * WIDE:.1f}",
        plan=" ".join(
            f"{slot_width * (at + WIDE / 2):.1f},{HEIGHT - HEIGHT * n / top:.1f}"
            for at, n in enumerate(plan)
        ),
        heights=[Tick(100 * (1 - part), f"{top * part:,.0f}") for part in (1.0, 0.5, 0.0)],
        times=[Tick(0, since[0]), Tick(50, since[places // 2]), Tick(100, since[-1])],
        values=[
            Value(at, _number(count), _number(planned))
            for at, count, planned in zip_longest(since[:-1], counts, plan)
        ],
        plan_said=plan_said,
    )


def _number(count: float | None) -> str:
    return "–" if count is None else f"{round(count)}"
