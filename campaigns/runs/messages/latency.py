"""Latency: the time from when a message could leave until FCM's acceptance is written."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from notifications.measures.measure import Histogram

TAKEN = Histogram(
    "carillon_message_seconds",
    "From when a message could leave first until it was written that FCM accepted it, for each "
    "device.",
    ("lane",),
    (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600),
)


def measure(lane: str, due: Iterable[datetime], now: datetime) -> None:
    TAKEN.add_all((max(0.0, (now - moment).total_seconds()) for moment in due), lane)
