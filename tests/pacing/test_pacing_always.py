"""What no order of events can break: over any minute, never more than the project's quota."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications.pacing.fcm_signals import AnswerCounts
from notifications.people.project import Project
from tests.given.fleet import Fleet, redis_away
from tests.given.forgetting import flush_gate

SECONDS = 100.0


@dataclass(frozen=True)
class Party:
    """Some processes on one reference, and how they behave."""

    count: int
    wanted: int
    rate: int | None
    lane: str
    patience: float  # below 1 they come back before they were told to
    heard: AnswerCounts


parties = st.builds(
    Party,
    count=st.integers(1, 4),
    wanted=st.integers(1, 400),
    rate=st.none() | st.integers(1, 500),
    lane=st.sampled_from(["bulk", "urgent"]),
    patience=st.floats(0.3, 2.0),
    heard=st.builds(
        AnswerCounts,
        answered=st.integers(0, 50),
        pushed_back=st.sampled_from([0, 0, 0, 0, 1, 10]),
        failing=st.sampled_from([0, 0, 0, 1, 10]),
        retry_after=st.none() | st.floats(0.0, 30.0),
    ),
)
moments = st.lists(st.floats(0, SECONDS), max_size=4).map(tuple)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    quota=st.integers(60, 20_000),
    ramp=st.sampled_from([0, 0, 5, 60]),
    crowd=st.lists(parties, min_size=1, max_size=4),
    flushes=moments,
)
def test_no_minute_passes_the_quota_whoever_asks_and_whatever_is_flushed(
    quota: int, ramp: int, crowd: list[Party], flushes: tuple[float, ...]
) -> None:
    flush_gate()
    fleet = Fleet(Project(pk=1, quota_per_minute=quota, ramp_seconds=ramp))
    for number, party in enumerate(crowd):
        fleet.add(
            f"run:{number}", count=party.count, rate=party.rate, lane=party.lane,
            wanted=party.wanted, patience=party.patience, answers=lambda _, p=party: p.heard,
        )  # fmt: skip
    fleet.run(SECONDS, flush_at=flushes)

    assert fleet.most_in(60) <= quota * 0.8 + max(2, quota * 0.8 / 60) <= quota
    for number, party in enumerate(crowd):
        if party.rate:
            own = fleet.most_in(60, f"run:{number}")
            assert own <= party.rate * 60 + max(1, party.rate)


@settings(max_examples=12, deadline=None)
@given(
    rate=st.integers(1, 1_000),
    count=st.integers(1, 4),
    late=st.floats(0, 0.04),
    rests=st.lists(st.floats(0, 10), max_size=3),
    lost=st.booleans(),
)
def test_no_second_passes_a_runs_own_rate_by_more_than_a_step(
    rate: int, count: int, late: float, rests: list[float], lost: bool
) -> None:
    """Whoever rested, or came late, has earned no burst; whoever always asks gets his rate."""
    flush_gate()
    with override_settings(WORKERS=count):
        fleet = Fleet(Project(pk=1, quota_per_minute=600_000, ramp_seconds=0))
        crowd = fleet.add("run:1", count=count, rate=rate, late=late)
        with redis_away() if lost else nullcontext():
            for rest in rests:
                fleet.run(3)
                fleet.now += rest
            fleet.run(1)
            fleet.run(30)

    crumbs = count if lost else 1  # messages that do not come in quarters
    assert fleet.most_in(1) < 1.25 * rate + crumbs
    assert crowd and fleet.rate(last=30) >= 0.95 * rate - crumbs / 30


@settings(max_examples=6, deadline=None)
@given(
    quota=st.integers(60, 20_000),
    crowd=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    flushes=moments,
)
def test_nothing_is_left_lying_while_somebody_wants_it(
    quota: int, crowd: list[int], flushes: tuple[float, ...]
) -> None:
    """Each flush costs one bucket, and each minute is otherwise used up, in equal parts."""
    flush_gate()
    fleet = Fleet(Project(pk=1, quota_per_minute=quota, ramp_seconds=0))
    for number, count in enumerate(crowd):
        fleet.add(f"run:{number}", count=count)
    fleet.run(SECONDS, flush_at=flushes)

    full = quota * 0.8 / 60
    lost = max(2.0, full) * (1 + len(flushes)) + full
    assert fleet.rate(last=SECONDS) * SECONDS >= full * SECONDS - lost - len(crowd)


@settings(max_examples=8, deadline=None)
@given(
    quota=st.integers(600, 20_000),
    count=st.integers(1, 6),
    losses=st.lists(st.tuples(st.floats(0.1, 20), st.floats(0.1, 20)), min_size=1, max_size=6),
)
def test_no_minute_passes_the_quota_while_redis_comes_and_goes(
    quota: int, count: int, losses: list[tuple[float, float]]
) -> None:
    """Each loss of Redis is everybody's: a network that parts some hosts from it is not meant."""
    flush_gate()
    with override_settings(WORKERS=count):
        fleet = Fleet(Project(pk=1, quota_per_minute=quota, ramp_seconds=0))
        fleet.add("run:1", count=count)
        for here, away in losses:
            fleet.run(here)
            with redis_away():
                fleet.run(away)
        fleet.run(20)

    assert fleet.most_in(60) <= quota
    assert fleet.rate(last=10) == pytest.approx(quota * 0.8 / 60, rel=0.1)
