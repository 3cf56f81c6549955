"""What a project's own servers can bear holds for all who ask by it, whatever becomes of Redis."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from notifications.pacing.gate import Limit, PaceNow, _script, pace_of
from notifications.people.project import Project
from tests.given.fleet import START, Fleet, redis_away
from tests.given.forgetting import flush_gate

STEP = 0.25  # seconds of a rate that may come at once, as in the gate


@pytest.fixture
def fleet(settings: LazySettings) -> Fleet:
    settings.WORKERS = 4
    return Fleet(Project(pk=1, quota_per_minute=60_000, ramp_seconds=0))


def test_all_runs_of_the_project_together_keep_to_it(fleet: Fleet) -> None:
    fleet.add("run:1", count=3, safe=50)
    fleet.add("run:2", count=2, safe=50, rate=400)
    fleet.run(60)
    assert fleet.rate(last=50) == pytest.approx(50, rel=0.05)
    assert fleet.most_in(1) <= 50 * (1 + STEP) + 1
    assert min(fleet.rate(name, last=50) for name in ("run:1", "run:2")) > 5, "both go on"


def test_a_slower_rate_of_its_own_still_binds_a_run(fleet: Fleet) -> None:
    fleet.add("run:1", count=2, safe=50, rate=10)
    fleet.run(60)
    assert fleet.rate(last=50) == pytest.approx(10, rel=0.05)


def test_whoever_does_not_ask_by_it_is_not_held_back(fleet: Fleet) -> None:
    fleet.add("run:1", count=2, safe=20)
    fleet.add("messages:1", count=1, lane="urgent")
    fleet.run(30)
    assert fleet.rate("messages:1", last=20) > 500
    assert fleet.rate("run:1", last=20) == pytest.approx(20, rel=0.1)


def test_another_project_of_the_same_firebase_project_has_servers_of_its_own(
    fleet: Fleet,
) -> None:
    other = Project(pk=2, quota_per_minute=60_000, ramp_seconds=0)
    fleet.add("run:1", safe=20)
    fleet.add("run:2", safe=100, project=other)
    fleet.run(30)
    assert fleet.rate("run:1", last=20) == pytest.approx(20, rel=0.1)
    assert fleet.rate("run:2", last=20) == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize(("before", "after"), [(200, 20), (20, 200)])
def test_another_rate_is_followed_within_a_second(fleet: Fleet, before: int, after: int) -> None:
    processes = fleet.add("run:1", count=3, safe=before)
    fleet.run(20)
    for process in processes:
        process.gate.safe = after
    fleet.run(1)
    fleet.run(5)
    assert fleet.rate(last=5) == pytest.approx(after, rel=0.15)


@pytest.mark.parametrize("moment", [5.0, 5.5, 12.1])
def test_a_flush_makes_nothing_faster(fleet: Fleet, moment: float) -> None:
    fleet.add("run:1", count=4, safe=40)
    fleet.run(20, flush_at=(moment, moment + 0.2, moment + 0.3))
    assert fleet.most_in(1) <= 40 * (1 + STEP) + 1


def test_a_bucket_that_nobody_can_read_is_an_empty_one(fleet: Fleet) -> None:
    [process] = fleet.add("run:1", safe=40)
    fleet.run(5)
    _script(1.0).registered_client.set("load:1", b"\xc1 not ours")
    assert process.take().granted == 0
    fleet.run(10)
    assert fleet.rate(last=5) == pytest.approx(40, rel=0.1)


def test_without_redis_each_process_keeps_to_its_share_of_it(fleet: Fleet) -> None:
    fleet.add("run:1", count=2, safe=40)
    fleet.add("run:2", count=2, safe=40)
    with redis_away():
        fleet.run(60)
        assert fleet.rate(last=50) == pytest.approx(40, rel=0.1), "four processes, a fourth each"
        assert pace_of(fleet.project, "run:1", 50, safe=40) == PaceNow(40, Limit.LOCAL)


def test_when_redis_comes_back_empty_nothing_jumps(fleet: Fleet) -> None:
    fleet.add("run:1", count=4, safe=40)
    with redis_away():
        fleet.run(10)
    flush_gate()
    fleet.run(10)
    grants = [(at, n) for at, n in fleet.grants["run:1"] if at > START + 9]
    assert sum(n for _, n in grants) <= 40 * 11 * 1.1


def test_a_page_says_that_it_is_the_limit(fleet: Fleet) -> None:
    fleet.add("run:1", count=2, safe=40, rate=400)
    fleet.run(5)
    pace = pace_of(fleet.project, "run:1", 400, safe=40, clock=lambda: fleet.now)
    assert (pace.rate_per_second, pace.limit) == (40, Limit.LOAD)
    pace = pace_of(fleet.project, "run:1", 30, safe=40, clock=lambda: fleet.now)
    assert (pace.rate_per_second, pace.limit) == (30, Limit.RATE)
