"""What `/metrics` tells, as Prometheus reads it."""

from __future__ import annotations

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families


def scraped(name: str, **labels: str) -> float:
    """The sum of the samples of this name that have these labels; 0 if there are none."""
    return sum(values(name, **labels))


def values(name: str, **labels: str) -> list[float]:
    """Those of the samples of this name that have these labels."""
    text = Client().get("/metrics").content.decode()
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    return [
        sample.value
        for sample in samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]


def names() -> set[str]:
    """Of every series that `/metrics` has, or tells of."""
    text = Client().get("/metrics").content.decode()
    told = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    return told | {
        sample.name for family in text_string_to_metric_families(text) for sample in family.samples
    }
