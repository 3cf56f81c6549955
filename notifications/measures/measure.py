"""Measures: counters and histograms of how often something happened and how long it took.

Callers add values up and write them once: two hundred values of a window cost as much as one. An
error while measuring never stops the work.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

import prometheus_client

from notifications.measures.exposition import OURS, begin_at_zero
from notifications.measures.metric_files import in_files

log = logging.getLogger(__name__)


class Measure:
    """A metric. The values of its labels come from closed lists, or from `by_project.py`."""

    def __init__(self, name: str, labels: Sequence[str]) -> None:
        in_files()
        self.name = name
        self.labels = tuple(labels)
        self.fails = False

    def _write(self, write: Callable[[], None]) -> None:
        if self.fails:
            return
        try:
            write()
        except OSError as error:
            self.fails = True  # log it once, not for each window
            log.warning("not measured here: %s: METRICS_DIR: %s", self.name, error)


class Count(Measure):
    """A counter: how often something happened, or how much of it, by labels and their values.

    All combinations are shown from the start, at 0. If a series began with its first event,
    Prometheus would not see that it grew.
    """

    def __init__(self, name: str, text: str, labels: Mapping[str, Iterable[str]]) -> None:
        super().__init__(name, tuple(labels))
        self.counter = prometheus_client.Counter(name, text, self.labels, registry=OURS)
        begin_at_zero(name, text, labels)

    def add(self, amount: float, *labels: str) -> None:
        if amount:
            self._write(lambda: self.counter.labels(*labels).inc(amount))

    def add_each(self, amounts: Mapping[str, float], *labels: str) -> None:
        """Add amounts by the value of the last label."""
        for last, amount in amounts.items():
            self.add(amount, *labels, last)


class Histogram(Measure):
    """A histogram of how long something took."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> None:
        super().__init__(name, labels)
        self.bounds = (*bounds, inf)
        self.histogram = prometheus_client.Histogram(
            name, text, self.labels, buckets=self.bounds, registry=OURS
        )

    def add_all(self, seconds: Iterable[float], *labels: str) -> None:
        seconds = list(seconds)
        if seconds:
            self._write(lambda: self._observe(seconds, labels))

    def _observe(self, seconds: list[float], labels: tuple[str, ...]) -> None:
        """Add many values at once. The library's own `observe` adds only one at a time."""
        series = self.histogram.labels(*labels)
        series._sum.inc(sum(seconds))
        for place, times in Counter(bisect_left(self.bounds, each) for each in seconds).items():
            series._buckets[place].inc(times)
