"""Chart axis: where it ends, and its labels."""

from __future__ import annotations

from dataclasses import dataclass

NICE = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # their halves read well too


@dataclass(frozen=True)
class Tick:
    """A label at an axis: its position, in percent of the chart, and its text."""

    at: float
    text: str


def nice_top(highest: float) -> float:
    """The axis' end: the next round number, so that heights between are easy to read."""
    size = 1.0
    while size * 10 < highest:
        size *= 10
    return next((size * nice for nice in NICE if size * nice >= highest), size * 10)
