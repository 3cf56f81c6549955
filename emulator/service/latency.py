"""How long an answer takes: always the same, or a median with a long tail, as on a real network."""

from __future__ import annotations

import math
import random

from emulator.settings import Settings

# Standard deviations from the median to the 99th percentile.
P99 = 2.326
LONGEST_SECONDS = 60.0


class Latency:
    def __init__(self, settings: Settings, *, seed: int) -> None:
        self._settings = settings
        self._dice = random.Random(seed)

    def seconds(self) -> float:
        settings = self._settings
        if settings.latency_p99_ms is None:
            return settings.latency_ms / 1000
        # Log-normal: many a little late, few very late, none early beyond reason.
        median, p99 = max(settings.latency_ms, 0.001), max(settings.latency_p99_ms, 0.001)
        spread = math.log(p99 / median) / P99
        return min(median / 1000 * math.exp(self._dice.gauss(0, spread)), LONGEST_SECONDS)
