"""Without Redis: slower, never open; and what the page says about the gate."""

from __future__ import annotations

import re

import pytest
from django.conf import LazySettings

from notifications.pacing import share
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import SCRIPT, Limit, PaceNow, pace_of
from notifications.people.project import Project
from tests.given.fleet import Fleet, redis_away

NOTHING = AnswerCounts()
OF_BOTH = {"OWN_BURST": "STEP"} | {
    name: name
    for name in ("BURST", "ALMOST_ONE", "FEW", "RECENT", "RELAPSE", "FIRST_GAP", "LONGEST_GAP",
                 "NO_ANSWER", "UNTRIED", "JITTER")
}  # fmt: skip


@pytest.fixture
def fleet(settings: LazySettings) -> Fleet:
    settings.WORKERS = 4
    return Fleet(Project(pk=1, quota_per_minute=30_000, ramp_seconds=0))


def test_a_process_alone_goes_by_the_numbers_of_the_gate() -> None:
    of_gate = dict(re.findall(r"^local ([A-Z_]+) = ([0-9.]+) ", SCRIPT, re.MULTILINE))
    for ours, theirs in OF_BOTH.items():
        assert getattr(share, ours) == float(of_gate[theirs]), ours


def test_each_process_keeps_to_its_share_and_starts_empty(fleet: Fleet) -> None:
    [process] = fleet.add("run:1", wanted=1_000)
    with redis_away():
        grant = process.take()
        assert (grant.granted, grant.limit) == (0, Limit.LOCAL)
        fleet.now += 0.5
        assert process.take().granted == 50
        fleet.now += 60
        assert process.take().granted == 100, "one second's worth at most"


def test_a_slow_run_keeps_its_share_of_its_own_rate(fleet: Fleet) -> None:
    [process] = fleet.add("run:1", rate=2)
    with redis_away():
        assert process.take().granted == 0
        fleet.now += 1
        assert process.take().granted == 0
        fleet.now += 1
        assert process.take().granted == 1


def test_a_closure_outlives_the_redis_that_knew_of_it(fleet: Fleet) -> None:
    teller, other = fleet.add("run:1", count=2)
    fleet.run(2)
    teller.gate.take(10, AnswerCounts(pushed_back=1, retry_after=30))
    other.take()
    with redis_away():
        for process in (teller, other):
            fleet.now += 10
            assert process.take().granted == 0
        fleet.now += 15
        assert teller.take().granted == other.take().granted == 0, "open, and empty"
        fleet.now += 1
        assert teller.take().granted == other.take().granted == 100


def test_what_was_heard_meanwhile_is_told_when_redis_is_back(fleet: Fleet) -> None:
    teller, other = fleet.add("run:1", count=2)
    fleet.run(2)
    with redis_away():
        teller.gate.take(10, AnswerCounts(pushed_back=1, retry_after=30))
    fleet.now += 2
    assert other.gate.take(10, NOTHING).granted == 10
    teller.gate.take(10, NOTHING)
    assert other.gate.take(10, NOTHING).limit is Limit.RETRY_AFTER


def test_a_redis_that_comes_and_goes_gives_no_second_twice(fleet: Fleet) -> None:
    fleet.add("run:1", count=4, patience=0.5)
    for _ in range(40):
        fleet.run(1.0)
        with redis_away():
            fleet.run(1.1)
    assert fleet.most_in(60) <= 24_000 + 3 * 400


# --- The page -------------------------------------------------------------------------------------


def seen(fleet: Fleet, reference: str = "run:1", rate: int | None = None) -> PaceNow:
    return pace_of(fleet.project, reference, rate, clock=lambda: fleet.now)


def test_the_page_names_the_limit_that_binds(fleet: Fleet) -> None:
    assert seen(fleet).limit is Limit.REST
    fleet.add("run:1", count=2)
    fleet.run(10)
    assert seen(fleet) == PaceNow(400, Limit.QUOTA)


def test_the_page_names_a_runs_own_rate_and_what_others_leave(fleet: Fleet) -> None:
    fleet.add("run:1", count=2)
    fleet.add("run:2", rate=100)
    fleet.run(30)
    assert seen(fleet, "run:2", 100) == PaceNow(100, Limit.RATE)
    shared = seen(fleet)
    assert shared.limit is Limit.SHARED
    assert shared.rate_per_second == pytest.approx(300, rel=0.05)


def test_the_page_says_how_long_the_ramp_takes(fleet: Fleet) -> None:
    fleet.project.ramp_seconds = 40
    fleet.add("run:1", count=2)
    fleet.run(10)
    pace = seen(fleet)
    assert pace.limit is Limit.RAMP
    assert pace.rate_per_second == pytest.approx(120, rel=0.1)
    assert pace.until is not None
    assert pace.until.timestamp() - fleet.now == pytest.approx(28, abs=2)


def test_the_page_says_when_fcm_lets_us_in_again_and_that_we_climb_then(fleet: Fleet) -> None:
    [process] = fleet.add("run:1")
    fleet.run(5)
    process.gate.take(10, AnswerCounts(pushed_back=1, retry_after=30))
    pace = seen(fleet)
    assert (pace.rate_per_second, pace.limit) == (0, Limit.RETRY_AFTER)
    assert pace.until is not None
    assert 30 <= pace.until.timestamp() - fleet.now <= 33
    fleet.run(40)
    assert seen(fleet).limit is Limit.REOPENING


def test_the_page_says_that_we_slowed_down(fleet: Fleet) -> None:
    [process] = fleet.add("run:1")
    fleet.run(10)
    process.gate.take(10, AnswerCounts(answered=1_000, failing=1_000))
    assert seen(fleet).limit is Limit.SLOWED
    assert seen(fleet).rate_per_second < 400


def test_the_page_says_when_the_workers_are_the_limit(fleet: Fleet) -> None:
    [process] = fleet.add("run:1")
    fleet.run(5)
    for _ in range(40):
        fleet.now += 0.2
        process.gate.take(10, NOTHING)
    assert seen(fleet) == PaceNow(400, Limit.WORKERS)


def test_the_page_survives_a_dead_redis_and_only_ever_looks(fleet: Fleet) -> None:
    with redis_away():
        assert pace_of(fleet.project, "run:1", None) == PaceNow(400, Limit.LOCAL)
        assert pace_of(fleet.project, "run:1", 50) == PaceNow(50, Limit.LOCAL)
    assert seen(fleet).limit is Limit.REST
    assert seen(fleet).limit is Limit.REST, "looking does not count as asking"
