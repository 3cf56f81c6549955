from __future__ import annotations

import statistics

from emulator.service.latency import Latency
from emulator.settings import Settings


def drawn(settings: Settings, seed: int = 1) -> list[float]:
    latency = Latency(settings, seed=seed)
    return [latency.seconds() for _ in range(20_000)]


def test_without_a_percentile_every_answer_takes_the_same_time() -> None:
    assert set(drawn(Settings(latency_ms=60))) == {0.06}


def test_the_median_and_the_99th_percentile_are_the_settings() -> None:
    seconds = drawn(Settings(latency_ms=100, latency_p99_ms=2_000))
    assert 0.095 < statistics.median(seconds) < 0.105
    assert 1.7 < statistics.quantiles(seconds, n=100)[98] < 2.3
    assert 8 < max(seconds) <= 60


def test_the_same_seed_gives_the_same_times() -> None:
    settings = Settings(latency_ms=100, latency_p99_ms=2_000)
    assert drawn(settings) == drawn(settings) != drawn(settings, seed=2)
