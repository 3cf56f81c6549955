"""FCM fails, or cannot be reached: one message at a time tries whether it is back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate, Limit, PaceNow, pace_of
from notifications.people.project import Project
from tests.given.fleet import Fleet, redis_away
from tests.given.forgetting import flush_gate

NOTHING = AnswerCounts()
OUTAGE = 1_800


def failing(granted: int) -> AnswerCounts:
    return AnswerCounts(failing=granted)


def a_fleet(*, count: int = 4, quota: int = 60_000, ramp: int = 0) -> Fleet:
    fleet = Fleet(Project(pk=1, quota_per_minute=quota, ramp_seconds=ramp))
    fleet.add("run:1", count=count)
    return fleet


def answer(fleet: Fleet, answers: Callable[[int], AnswerCounts]) -> None:
    for process in fleet.processes:
        process.answers = answers


def fall_silent(fleet: Fleet) -> float:
    """An outage begins, and the gate knows; when that was."""
    fleet.run(10)
    began = fleet.now
    answer(fleet, failing)
    while seen(fleet).limit is not Limit.FAILING:
        fleet.run(1)
        assert fleet.now < began + 20, "nobody notices"
    return began


def tries(fleet: Fleet, *, since: float) -> list[tuple[float, int]]:
    return [(at, n) for at, n in fleet.grants["run:1"] if at >= since and n]


# --- While it lasts -------------------------------------------------------------------------------


def test_an_outage_of_half_an_hour_costs_one_message_for_each_try_of_all_processes() -> None:
    fleet = a_fleet()
    began = fall_silent(fleet)
    closed = fleet.now
    fleet.run(OUTAGE)
    seen = tries(fleet, since=closed)
    assert {count for _, count in seen} == {1}
    assert 10 <= seen[0][0] - began <= 13, "no sooner than Google wants a failed request again"
    gaps = [after - before for (before, _), (after, _) in pairwise(seen)]
    assert gaps[:4] == pytest.approx([21, 42, 63, 63], rel=0.08)
    assert all(60 <= gap <= 60 * 1.1 + 1 for gap in gaps[3:])


@pytest.mark.parametrize("quota", [60, 6_000, 600_000])
def test_what_an_outage_costs_before_it_is_noticed_is_a_second_of_the_rate(quota: int) -> None:
    fleet = a_fleet(quota=quota)
    began = fall_silent(fleet)
    assert sum(n for _, n in tries(fleet, since=began)) <= max(20, quota * 0.8 / 60) * 1.5


def test_after_a_good_answer_it_opens_for_all_and_climbs_from_the_floor() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    fleet.run(OUTAGE)
    answer(fleet, lambda granted: AnswerCounts(answered=granted))
    back = fleet.now
    fleet.run(60 * 1.1 + 5)
    opened = tries(fleet, since=back)[0][0]
    soon = sum(n for at, n in tries(fleet, since=back) if at <= opened + 2)
    assert 2 < soon <= 2 * 800 * 0.2, "a start, and no flood"
    fleet.run(60)
    assert fleet.rate(last=5) == pytest.approx(800, rel=0.05)


@pytest.mark.parametrize(
    "news",
    [AnswerCounts(answered=1), AnswerCounts(pushed_back=1, retry_after=5)],
    ids=["a 404", "a 429"],
)
def test_whatever_fcm_itself_answers_shows_that_it_is_there(news: AnswerCounts) -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    answer(fleet, lambda granted: news if granted == 1 else NOTHING)
    fleet.run(30)
    answer(fleet, lambda granted: AnswerCounts(answered=granted))
    fleet.run(10)
    assert fleet.rate(last=5) > 20


def test_a_try_whose_process_died_is_followed_by_the_next() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    fleet.run(30)
    prober = Gate(fleet.project, reference="run:2", clock=lambda: fleet.now)
    while not (grant := prober.take(9, NOTHING)).granted:
        fleet.now += 0.5
    assert grant.is_trial and grant.granted == 1
    dead_at = fleet.now
    other = fleet.processes[0].gate
    while not (grant := other.take(9, NOTHING)).granted:
        assert grant.wait <= 1, "worth waiting for, as it may be over at any moment"
        fleet.now += max(0.05, grant.wait)
    assert grant.is_trial
    assert fleet.now - dead_at == pytest.approx(20, abs=1)


def test_a_try_that_cost_no_request_is_made_up_for_by_another_one() -> None:
    """Its person had left in the meantime."""
    fleet = a_fleet()
    fall_silent(fleet)
    prober, other = fleet.processes[0].gate, fleet.processes[1].gate
    fleet.now += 30
    assert prober.take(9, NOTHING).is_trial
    prober.take(0, NOTHING)
    fleet.now += 1
    assert other.take(9, NOTHING).is_trial


def test_whoever_has_requests_on_their_way_is_not_the_one_who_tries() -> None:
    """Their answers, which are older news, would be taken for the try's."""
    fleet = a_fleet()
    fall_silent(fleet)
    fleet.now += 30
    busy, idle = fleet.processes[0].gate, fleet.processes[1].gate
    assert busy.take(9, NOTHING, idle=False).granted == 0
    assert busy.take(0, NOTHING).granted == 0
    assert idle.take(9, NOTHING).is_trial


def test_good_answers_from_before_the_outage_open_nothing() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    first, second, *_ = (process.gate for process in fleet.processes)
    first.take(0, AnswerCounts(answered=150))
    assert second.take(100, NOTHING).limit is Limit.FAILING


def test_fcms_own_word_is_obeyed_when_it_asks_for_longer() -> None:
    gate = a_fleet().processes[0].gate
    assert 10 <= gate.take(0, AnswerCounts(failing=9, failing_for=2)).wait <= 11
    assert gate.take(0, AnswerCounts(failing=1, failing_for=300)).wait == 300, "what was on its way"


def test_an_fcm_that_falls_back_soon_is_tried_less_and_less_often() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    answer(fleet, lambda granted: AnswerCounts(answered=1) if granted == 1 else failing(granted))
    began = fleet.now
    fleet.run(600)
    assert len([at for at, count in tries(fleet, since=began + 200) if count == 1]) <= 9


# --- What is no outage ----------------------------------------------------------------------------


def test_one_failure_closes_nothing_and_three_in_a_row_of_a_slow_run_do() -> None:
    fleet = Fleet(Project(pk=1, quota_per_minute=60_000, ramp_seconds=0))
    [process] = fleet.add("run:1", rate=1, wanted=1)
    fleet.run(20)
    for number in range(3):
        assert process.gate.take(1, NOTHING).limit is not Limit.FAILING, f"after {number}"
        fleet.now += 7
        process.gate.take(1, failing(1))
    assert process.gate.take(1, NOTHING).limit is Limit.FAILING


def test_failures_with_good_answers_between_them_close_nothing() -> None:
    fleet = a_fleet(count=1)
    fleet.run(10)
    for _ in range(50):
        for heard in (failing(1), AnswerCounts(answered=1), failing(1), AnswerCounts(answered=2)):
            fleet.now += 0.5
            assert fleet.processes[0].gate.take(1, heard).limit is not Limit.FAILING


def test_a_small_window_that_failed_alone_says_nothing_against_hundreds_that_did_not() -> None:
    fleet = a_fleet()
    fleet.run(10)
    assert fleet.processes[0].gate.take(1, failing(5)).limit is not Limit.FAILING


# --- Redis ----------------------------------------------------------------------------------------


def test_a_flush_amid_an_outage_costs_what_its_beginning_did() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    fleet.run(300)
    before = fleet.now
    flush_gate()
    fleet.run(300)
    assert sum(n for _, n in tries(fleet, since=before)) <= 1.5 * 800


def test_without_redis_each_process_finds_out_and_tries_alone() -> None:
    fleet = a_fleet(count=2)
    fleet.run(10)
    with redis_away():
        fleet.run(5)
        answer(fleet, failing)
        began = fleet.now
        fleet.run(5)
        assert 0 < sum(n for _, n in tries(fleet, since=began)) <= 800
        closed = fleet.now
        fleet.run(600)
        seen = tries(fleet, since=closed)
        assert {count for _, count in seen} == {1}
        assert 2 * 8 <= len(seen) <= 2 * 14
        answer(fleet, lambda granted: AnswerCounts(answered=granted))
        fleet.run(70)
        assert fleet.rate(last=2) > 100


def test_who_loses_redis_amid_an_outage_goes_on_trying_one_at_a_time() -> None:
    fleet = a_fleet(count=2)
    fall_silent(fleet)
    with redis_away():
        lost = fleet.now
        fleet.run(120)
        assert {count for _, count in tries(fleet, since=lost)} == {1}
    back = fleet.now
    fleet.run(120)
    assert {count for _, count in tries(fleet, since=back)} == {1}


def test_an_outage_found_without_redis_is_told_to_a_gate_that_forgot_everything() -> None:
    fleet = a_fleet(count=2)
    fleet.run(2)
    teller, other = (process.gate for process in fleet.processes)
    with redis_away():
        teller.take(9, failing(200))
    flush_gate()
    fleet.now += 2
    teller.take(9, NOTHING)
    assert other.take(9, NOTHING).limit is Limit.FAILING


# --- The page -------------------------------------------------------------------------------------


def seen(fleet: Fleet) -> PaceNow:
    return pace_of(fleet.project, "run:1", None, clock=lambda: fleet.now)


def test_the_page_knows_of_the_outage_and_of_the_next_try() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    pace = seen(fleet)
    assert (pace.rate_per_second, pace.limit) == (0, Limit.FAILING)
    assert pace.until is not None
    assert 0 < pace.until.timestamp() - fleet.now <= 11


def test_the_page_does_not_name_a_try_that_is_over() -> None:
    fleet = a_fleet()
    fall_silent(fleet)
    fleet.now += 300
    pace = seen(fleet)
    assert pace.limit is Limit.FAILING
    assert pace.until is not None and pace.until.timestamp() >= fleet.now
