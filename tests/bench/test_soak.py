"""A soak says how each process grew, once it had warmed up."""

from __future__ import annotations

from bench.growth.soak import growth
from bench.processes import Holding


def test_growth_is_a_slope_a_minute_and_leaves_the_warm_up_out() -> None:
    warm_up = [(float(second), Holding("workers", 10.0 * second, 9, 3)) for second in range(4)]
    steady = [
        (60.0 * minute, Holding("workers", 100 + 2.0 * minute, 30, 20)) for minute in range(16)
    ]
    (grown,) = growth({7: [*warm_up, *steady]})
    assert round(grown["mb_per_minute"], 6) == 2.0
    assert grown["files"] == (30, 30, 30)
    assert grown["sockets"] == (20, 20, 20)


def test_a_process_that_was_hardly_seen_has_no_slope() -> None:
    assert growth({7: [(0.0, Holding("web", 50.0, 9, 3)), (9.0, Holding("web", 90.0, 9, 3))]}) == []
