"""Runs that meet at one gate share it, and each of them keeps to its own rules."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.forecast.course import foresee
from campaigns.forecast.other_runs.shared_gate import QUARTER, Gate, RunRequest, RunResult, simulate
from campaigns.forecast.solver import solving
from campaigns.forecast.solver.capacity import Capacity
from campaigns.forecast.solver.eligibility import Answer, check
from campaigns.forecast.solver.rules import PersonKind, Rules
from notifications.people.consent.hours import QuietHours

START = datetime(2026, 12, 1, 9, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3_600, 86_400))
NIGHT = QuietHours(time(21), time(8), "UTC")
GATE = Gate(100.0, cold=100.0)


def asks(
    count: int, *, after: timedelta = timedelta(), rate: float = 100.0, **rules: object
) -> RunRequest:
    by = Rules(start=START + after, **{"ttl": DAY, **rules})  # type: ignore[arg-type]
    return RunRequest({PersonKind("UTC"): count}, count, by, rate)


def takes(run: RunResult) -> float:
    """In seconds, from its own start."""
    assert run.ends_at
    return (run.ends_at - run.asks.rules.start).total_seconds()


runs = st.builds(
    lambda count, minutes, rate, quiet, ttl: asks(
        count, after=minutes * MINUTE, rate=rate, quiet=quiet, ttl=ttl * MINUTE
    ),
    st.integers(0, 400_000), st.integers(0, 2_000), st.floats(1, 100),
    st.sampled_from([None, NIGHT]), st.integers(1, 2_000),
)  # fmt: skip


@given(runs)
def test_alone_a_run_goes_as_the_launch_check_foretells_it(run: RunRequest) -> None:
    [found] = simulate([run], GATE)
    capacity = Capacity(100.0, most=run.rate)
    foretold = foresee(run.kinds, run.gets_it, run.rules, capacity, exact=True)
    few = run.gets_it / 100  # each of its people stands for others
    assert found.sent == pytest.approx(foretold.sent, abs=2 * few + 1_000)
    if found.ends_at and foretold.ends_at:
        late = abs((found.ends_at - foretold.ends_at).total_seconds())
        assert late <= 2 * few / run.rate + 1 or found.too_late


@given(st.lists(runs, max_size=5))
def test_everybody_is_sent_to_or_too_late_and_stands_in_one_quarter(
    several: list[RunRequest],
) -> None:
    for run in simulate(several, GATE):
        assert run.sent + run.too_late == run.asks.gets_it
        assert sum(run.quarters.values()) == run.sent


@given(st.lists(runs, max_size=5))
def test_no_quarter_of_an_hour_holds_more_than_the_gate_lets_through(
    several: list[RunRequest],
) -> None:
    found, used = simulate(several, GATE), dict[datetime, int]()
    for run in found:
        for at, count in run.quarters.items():
            used[at] = used.get(at, 0) + count
    most = 100 * QUARTER.total_seconds() + sum(run.each for run in found)
    assert all(count <= most for count in used.values())


@given(st.lists(runs, min_size=1, max_size=4))
def test_the_same_runs_go_the_same_way(several: list[RunRequest]) -> None:
    one, other = ([run.ends_at for run in simulate(several, GATE)] for _ in range(2))
    assert one == other


def test_two_that_want_everything_get_half_each() -> None:
    first, second = simulate([asks(6_000), asks(6_000)], GATE)
    assert takes(first) == pytest.approx(120, abs=1)
    assert takes(second) == pytest.approx(120, abs=1)


def test_who_comes_later_slows_down_who_is_there_and_waits_itself() -> None:
    first, second = simulate([asks(6_000), asks(6_000, after=30 * SECOND)], GATE)
    assert takes(first) == pytest.approx(90, abs=1)
    assert takes(second) == pytest.approx(90, abs=1)


def test_one_with_a_low_rate_takes_only_that() -> None:
    slow, fast = simulate([asks(6_000, rate=10.0), asks(6_000)], GATE)
    assert takes(slow) == pytest.approx(600, abs=1)
    assert takes(fast) == pytest.approx(6_000 / 90, abs=1)


def test_runs_that_never_meet_do_not_know_of_each_other() -> None:
    alone = takes(simulate([asks(6_000)], GATE)[0])
    assert [takes(run) for run in simulate([asks(6_000), asks(6_000, after=HOUR)], GATE)] == [
        alone,
        alone,
    ]


def test_while_its_people_sleep_a_run_leaves_the_gate_to_others() -> None:
    """Of Seoul and London, Seoul has its night: the stretches say when it is there."""
    halves = {PersonKind("UTC"): 6_000, PersonKind("Asia/Seoul"): 6_000}
    night = RunRequest(
        halves, 12_000, Rules(START + 4 * HOUR, DAY, quiet=NIGHT), 100.0
    )  # 22:00 in Seoul
    late, other = simulate([night, asks(6_000, after=6 * HOUR)], GATE)
    assert takes(other) == pytest.approx(60, abs=1)
    assert [one.begins for one in late.stretches] == [
        START + 4 * HOUR,
        datetime(2026, 12, 1, 23, tzinfo=UTC),
    ]


def test_a_gate_climbs_once_for_all_who_come_one_after_another() -> None:
    cold = Gate(100.0, cold=10.0, climb=1.0)
    alone = takes(simulate([asks(12_000)], cold)[0])
    _first, second = simulate([asks(24_000), asks(12_000, after=200 * SECOND)], cold)
    assert alone > 120 + 35
    assert takes(second) == pytest.approx(161 + 39.5, abs=2)


@pytest.mark.parametrize(
    ("many", "people"), [(1, 1_000), (10, 10_000), (40, 10_000), (200, 10_000)]
)
def test_many_runs_are_reckoned_with_no_more_people_than_ten(many: int, people: int) -> None:
    found = simulate([asks(100_000, after=n * HOUR) for n in range(many)], GATE)
    assert sum(len(run.plan.at) for run in found) == people
    assert all(takes(run) == pytest.approx(1_000, rel=0.02) for run in found)


def test_a_slow_run_asks_who_is_awake_a_few_times_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Counter[str]()

    def counted(rules: Rules, kind: PersonKind, now: datetime) -> Answer:
        asked[kind.zone] += 1
        return check(rules, kind, now)

    monkeypatch.setattr(solving, "check", counted)
    zones = ("Asia/Seoul", "Europe/Berlin", "America/New_York")
    rules = Rules(START, 10 * DAY, quiet=NIGHT)
    [found] = simulate(
        [RunRequest(dict.fromkeys(map(PersonKind, zones), 300), 900, rules, 0.002)], GATE
    )
    assert found.sent == 900 and takes(found) > 5 * DAY.total_seconds()
    days = takes(found) / DAY.total_seconds()
    assert all(count <= 4 * days for count in asked.values())
