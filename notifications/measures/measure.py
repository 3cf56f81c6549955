"""What is measured: how often something happened, and how long it took.

Added up by whoever measures, and written once for many: a window's two hundred cost what one does.
Nothing fails because it could not be measured.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

import prometheus_client

from notifications.measures.exposition import OURS, begin_at_zero
from notifications.measures.place import in_files

log = logging.getLogger(__name__)


class Measure:
    """By labels whose values are from closed lists, or made few by `by_project.py`."""

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
            self.fails = True  # said once, not for each window
            log.warning("not measured here: %s: METRICS_DIR: %s", self.name, error)


class Count(Measure):
    """How often it happened, or how much of it there was: by labels and the values of each.

    All of them are shown from the start, at 0. A series that begins with what happened first has
    no growth that Prometheus sees.
    """

    def __init__(self, name: str, text: str, labels: Mapping[str, Iterable[str]]) -> None:
        super().__init__(name, tuple(labels))
        self.counter = prometheus_client.Counter(name, text, self.labels, registry=OURS)
        begin_at_zero(name, text, labels)

    def add(self, amount: float, *labels: str) -> None:
        if amount:
            self._write(lambda: self.counter.labels(*labels).inc(amount))

    def add_each(self, amounts: Mapping[str, float], *labels: str) -> None:
        """By the last label."""
        for last, amount in amounts.items():
            self.add(amount, *labels, last)


class Spread(Measure):
    """How long it took, each time."""

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
        """As its own `observe` does for one at a time, which is all that it has."""
        mine = self.histogram.labels(*labels)
        mine._sum.inc(sum(seconds))
        for place, times in Counter(bisect_left(self.bounds, each) for each in seconds).items():
            mine._buckets[place].inc(times)
