"""Exposition: what `/metrics` shows: the metrics of all processes of this machine, added up."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from django.conf import settings
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from notifications.measures.metric_files import folder

OURS = CollectorRegistry()

log = logging.getLogger(__name__)

Values = Mapping[str, Iterable[str]]  # by label
_counters: dict[str, tuple[str, Values]] = {}


def begin_at_zero(name: str, text: str, labels: Values) -> None:
    """Show this counter for all values of its labels, at 0 until something is counted."""
    _counters[name.removesuffix("_total")] = (text, labels)


class MetricsCollector(Collector):
    """Collects counters and histograms, with a 0 for everything that has not happened yet."""

    def collect(self) -> Iterator[Metric]:
        families = {family.name: family for family in _collect()}
        for name, (text, labels) in _counters.items():
            family = families.setdefault(name, CounterMetricFamily(name, text))
            present = {tuple(map(sample.labels.get, labels)) for sample in family.samples}
            for values in product(*labels.values()):
                if values not in present:
                    family.add_sample(f"{name}_total", dict(zip(labels, values, strict=True)), 0)
        yield from families.values()


def register(registry: CollectorRegistry) -> None:
    registry.register(MetricsCollector())


def _collect() -> Iterable[Metric]:
    """Return the metrics of all processes. Without a folder, only those of this process."""
    if not settings.METRICS_DIR:
        return OURS.collect()
    try:
        files = MultiProcessCollector(CollectorRegistry(), str(folder()))  # type: ignore[no-untyped-call]
    except OSError as error:
        log.warning("nothing that was measured is shown: METRICS_DIR: %s", error)
        return ()
    return files.collect()  # type: ignore[no-untyped-call,no-any-return]
