"""Charts: bars and a line in SVG units, with the labels of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from django.utils.formats import date_format
from django.utils.translation import pgettext

from notifications.admin.ui.axis import Tick, nice_top

WIDTH, HEIGHT = 700.0, 150.0
SHOWN_SHARE = 0.72  # a bar's share of its slot
LEAST = 2.0  # a few among very many must not vanish: they get a visible line


@dataclass(frozen=True)
class Bar:
    left: float
    top: float
    height: float


@dataclass(frozen=True)
class Axis:
    """The vertical axis of a chart."""

    top: float

    @classmethod
    def for_counts(cls, counts: Sequence[float]) -> Axis:
        top = nice_top(max(2, *counts))
        return cls(top + top % 2 if top < 10 else top)  # half of it must be whole, too

    @property
    def heights(self) -> list[Tick]:
        return [Tick(100 * (1 - part), f"{self.top * part:,.0f}") for part in (1.0, 0.5, 0.0)]

    def at(self, count: float) -> float:
        """The y coordinate of a count, measured from the top as in SVG."""
        return HEIGHT - HEIGHT * count / self.top


def bar_width(places: int) -> float:
    return WIDTH / places * SHOWN_SHARE


def stacks(columns: Sequence[Sequence[int]], axis: Axis) -> list[list[Bar | None]]:
    """The bars of each column, stacked from the bottom up."""
    place = WIDTH / len(columns)
    gap = place * (1 - SHOWN_SHARE) / 2
    return [_stack(parts, slot * place + gap, axis) for slot, parts in enumerate(columns)]


def _stack(parts: Sequence[int], x: float, axis: Axis) -> list[Bar | None]:
    ground, stack = HEIGHT, list[Bar | None]()
    for count in parts:
        height = max(HEIGHT * count / axis.top, LEAST) if count else 0.0
        top = max(0.0, ground - height)
        stack.append(Bar(x, top, height) if count else None)
        ground = top
    return stack


@dataclass(frozen=True)
class Line:
    """A stroke for each stretch of known levels, and the area under it."""

    strokes: list[str]
    areas: list[str]


def line(levels: Sequence[int | None], axis: Axis) -> Line:
    """The line of a chart. Days without a count are gaps, without invented values."""
    step = WIDTH / max(1, len(levels) - 1)
    known = [
        (slot * step, axis.at(level)) for slot, level in enumerate(levels) if level is not None
    ]
    stretches = _split_at_gaps(known, step * 1.5)
    return Line(
        strokes=[" ".join(f"{x:.1f},{y:.1f}" for x, y in points) for points in stretches],
        areas=[
            " ".join(
                f"{x:.1f},{y:.1f}"
                for x, y in ((points[0][0], HEIGHT), *points, (points[-1][0], HEIGHT))
            )
            for points in stretches
        ],
    )


def _split_at_gaps(
    points: list[tuple[float, float]], widest: float
) -> list[list[tuple[float, float]]]:
    stretches = [points[:1]]
    for before, point in pairwise(points):
        if point[0] - before[0] > widest:
            stretches.append([])
        stretches[-1].append(point)
    return [stretch for stretch in stretches if stretch]


def times(days: Sequence[date]) -> list[Tick]:
    """Labels of the first, the middle and the last day, each once."""
    last = len(days) - 1
    marked = sorted({0, last // 2, last})
    return [Tick(100 * at / max(1, last), name_of(days[at])) for at in marked]


def name_of(day: date) -> str:
    return date_format(day, pgettext("date format", "j F"))


def short_name_of(day: date) -> str:
    return date_format(day, pgettext("date format", "D j"))
