"""One gate for all processes of a project: what it lets through, to whom, and why not more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate, Limit
from notifications.people.project import Project
from tests.given.fleet import Fleet
from tests.given.forgetting import flush_gate

NOTHING = AnswerCounts()


def a_fleet(*, quota: int = 6_000, ramp: int = 0) -> Fleet:
    return Fleet(Project(pk=1, quota_per_minute=quota, ramp_seconds=ramp))


# --- The rate -------------------------------------------------------------------------------------


def test_the_gate_starts_empty_on_redis_own_clock() -> None:
    project = Project(pk=1, quota_per_minute=750, ramp_seconds=0)
    grant = Gate(project, reference="run:1").take(100, NOTHING)
    assert grant.granted == 0
    assert 0 < grant.wait <= 1
    assert grant.limit is Limit.QUOTA


def test_two_processes_fill_four_fifths_of_the_quota_and_not_more() -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=2)
    fleet.run(120)
    assert fleet.rate(last=60) == pytest.approx(80, rel=0.01)
    assert fleet.most_in(60) <= 4_800 + 80, "the bucket holds one second's worth"


def test_a_rate_of_its_own_binds_a_run_below_the_quota() -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=3, rate=10)
    fleet.run(60)
    assert fleet.rate(last=30) == pytest.approx(10, rel=0.05)


def test_a_slow_pace_comes_in_worthwhile_windows_not_in_crumbs() -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=4)
    fleet.run(30)
    sizes = [count for _, count in fleet.grants["run:1"] if count]
    assert min(sizes) >= 20


@pytest.mark.parametrize("moment", [5, 5.5, 12.1])
def test_a_flush_costs_time_and_bursts_nothing(moment: float) -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=2, patience=0.3)
    fleet.run(moment)
    flush_gate()
    fleet.run(1)
    assert fleet.rate(last=1) <= 80


# --- The ramp -------------------------------------------------------------------------------------


def test_a_cold_start_climbs_to_the_full_rate_over_the_configured_time() -> None:
    fleet = a_fleet(quota=60_000, ramp=60)
    fleet.add("run:1", count=2)
    seen = []
    for _ in range(8):
        fleet.run(10)
        seen.append(fleet.rate(last=10))
    assert seen == pytest.approx([100, 230, 360, 500, 630, 740, 800, 800], rel=0.15)
    assert seen == sorted(seen)


def test_a_rest_cools_the_gate_and_a_trickle_does_not_keep_it_warm() -> None:
    fleet = a_fleet(quota=60_000, ramp=20)
    greedy = fleet.add("run:1", count=2)
    fleet.run(30)
    fleet.processes = [*fleet.add("run:2", rate=1)]
    fleet.run(60)
    assert fleet.rate(last=30) <= 1.1

    fleet.processes = greedy
    fleet.run(5)

    assert fleet.rate(last=5) < 300, "of 800: it climbs anew"
    fleet.run(30)
    assert fleet.rate(last=5) == pytest.approx(800, rel=0.02)


# --- What FCM says --------------------------------------------------------------------------------


def closed_for(fleet: Fleet) -> float:
    """Seconds until anybody gets anything, when all come back far too often."""
    told_at, seconds = fleet.now, 0.0
    while not any(process.gate.take(10, NOTHING).granted for process in fleet.processes):
        fleet.now += 0.5
        seconds = fleet.now - told_at
        assert seconds < 3_600, "it never opens"
    return seconds


@pytest.mark.parametrize(
    ("heard", "seconds"),
    [
        (AnswerCounts(answered=150, pushed_back=1, retry_after=20), 20),
        (AnswerCounts(answered=1, pushed_back=9), 60),
    ],
    ids=["a 429 with Retry-After", "a flood of 429s that say 0"],
)
def test_one_process_told_to_wait_closes_the_gate_for_all(
    heard: AnswerCounts, seconds: float
) -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=3)
    fleet.add("run:2", lane="urgent")
    fleet.run(10)
    told = fleet.processes[0].gate.take(1, heard)
    assert seconds <= told.wait <= seconds * 1.1, "so that a worker may do something else"
    assert seconds <= closed_for(fleet) <= seconds * 1.1 + 1


def test_the_gate_reopens_at_a_fraction_and_climbs() -> None:
    fleet = a_fleet(quota=60_000)
    first, *_ = fleet.add("run:1", count=3)
    fleet.run(10)
    first.gate.take(1, AnswerCounts(pushed_back=1, retry_after=5))
    fleet.run(10)
    assert fleet.rate(last=4) < 150, "of 800"
    fleet.run(60)
    assert fleet.rate(last=2) == pytest.approx(800, rel=0.05)


def test_a_few_refusals_among_many_answers_close_and_slow_nothing() -> None:
    fleet = a_fleet(quota=60_000)
    fleet.add("run:1", count=2, answers=lambda granted: AnswerCounts(answered=19, failing=1))
    fleet.run(30)
    assert fleet.rate(last=20) == pytest.approx(800, rel=0.02)


def test_a_quota_that_is_lowered_binds_at_once() -> None:
    fleet = a_fleet(quota=60_000)
    processes = fleet.add("run:1", count=2)
    fleet.run(10)
    fleet.processes = []
    fleet.run(5)  # the bucket fills with what the old quota allowed
    fleet.project.quota_per_minute = 6_000
    fleet.processes = processes
    fleet.run(2)
    assert fleet.rate(last=2) <= 2 * 80


def test_sustained_failures_cut_the_rate_step_by_step_and_it_climbs_back() -> None:
    fleet = a_fleet(quota=60_000)
    processes = fleet.add("run:1", count=2)
    fleet.run(20)
    for process in processes:
        process.answers = lambda granted: AnswerCounts(answered=granted // 2, failing=granted // 2)
    fleet.run(4)
    once = fleet.rate(last=2)
    fleet.run(30)
    sunk = fleet.rate(last=5)
    for process in processes:
        process.answers = lambda granted: AnswerCounts(answered=granted)
    fleet.run(80)
    assert 800 * 0.4 < once < 800 * 0.9, "one cut, not one for each window"
    assert sunk < once
    assert fleet.rate(last=5) == pytest.approx(800, rel=0.02)


# --- Between runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("quota", "seconds"), [(60, 100), (6_000, 20), (600_000, 5)])
def test_runs_share_equally_whatever_processes_each_of_them_has(quota: int, seconds: int) -> None:
    fleet = a_fleet(quota=quota)
    fleet.add("run:1", count=6, patience=0.2)  # it comes back far more often, too
    fleet.add("run:2", count=1)
    fleet.run(seconds / 5)  # whoever asks first has a start
    fleet.run(seconds)
    equal = pytest.approx(quota * 0.8 / 120, rel=0.06)
    assert fleet.rate("run:1", last=seconds) == equal
    assert fleet.rate("run:2", last=seconds) == equal


def test_what_one_run_does_not_use_the_others_do() -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=4)
    fleet.add("run:2", rate=10)
    fleet.add("run:3")
    fleet.run(60)
    rates = [fleet.rate(name, last=40) for name in ("run:1", "run:2", "run:3")]
    assert rates == pytest.approx([35, 10, 35], rel=0.08)
    assert sum(rates) == pytest.approx(80, rel=0.01)


def test_many_small_runs_cost_a_large_one_only_what_they_send() -> None:
    fleet = a_fleet(quota=60_000)
    fleet.add("run:0")
    for number in range(1, 9):
        fleet.add(f"run:{number}", rate=50)
    fleet.run(15)
    assert fleet.rate("run:0", last=10) == pytest.approx(400, rel=0.03)
    assert fleet.rate(last=10) == pytest.approx(800, rel=0.02)


def test_a_run_that_rested_has_no_credit_and_one_that_left_holds_nobody() -> None:
    fleet = a_fleet()
    first, second = fleet.add("run:1", count=2), fleet.add("run:2", count=2)
    fleet.run(10)
    fleet.processes = first
    fleet.run(30)
    assert fleet.rate("run:1", last=28) == pytest.approx(80, rel=0.02), "held by nobody"

    fleet.processes = [*first, *second]
    fleet.run(10)
    assert fleet.rate("run:1", last=10) == pytest.approx(40, rel=0.1), "not starved by the return"


def test_urgent_messages_have_a_part_that_bulk_cannot_take() -> None:
    fleet = a_fleet(quota=60_000)
    fleet.add("run:1", count=5)
    fleet.run(20)
    [urgent] = fleet.add("urgent", lane="urgent", wanted=150)
    assert urgent.take().granted == 150, "at once, in the middle of a flood"


def test_a_flood_of_urgent_messages_does_not_starve_bulk() -> None:
    fleet = a_fleet(quota=60_000)
    fleet.add("run:1", count=2)
    fleet.add("urgent", lane="urgent", count=5)
    fleet.run(30)
    assert fleet.rate("run:1", last=20) > 0.4 * 800
    assert fleet.rate(last=20) == pytest.approx(800, rel=0.01)


@pytest.mark.parametrize(
    "clock_change", [pytest.param(-0.5, id="a little"), pytest.param(-3_600, id="by an hour")]
)
def test_a_clock_that_goes_back_gives_nothing_twice_and_closes_nothing(clock_change: float) -> None:
    fleet = a_fleet()
    fleet.add("run:1", count=2)
    fleet.run(10)
    before = sum(count for _, count in fleet.grants["run:1"])
    fleet.now += clock_change
    fleet.run(10)
    after = sum(count for _, count in fleet.grants["run:1"])
    assert 700 <= after - before <= 800 + 80


def test_what_two_windows_heard_is_one_report_with_the_longest_wait() -> None:
    told: Callable[[AnswerCounts, AnswerCounts], AnswerCounts] = AnswerCounts.__add__
    assert told(AnswerCounts(1, 2, 3, 4.0), AnswerCounts(10, 20, 30, 9.0)) == AnswerCounts(
        11, 22, 33, 9.0
    )
    assert told(AnswerCounts(1, 2, 3, 4.0), AnswerCounts(10, 20, 30)) == AnswerCounts(
        11, 22, 33, 4.0
    )
    assert told(NOTHING, NOTHING) == NOTHING
