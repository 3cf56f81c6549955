"""A plan keeps to every rule for everybody, says what became of each, and is always the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.forecast.solver.capacity import Capacity, Other
from campaigns.forecast.solver.eligibility import check
from campaigns.forecast.solver.plan import Plan
from campaigns.forecast.solver.rules import Caps, People, PersonKind, Rules, Skip
from campaigns.forecast.solver.solving import solve
from campaigns.runs import local_time
from campaigns.runs.local_time import AT_ONCE, NEVER, NEXT_DAY, LocalTime
from campaigns.runs.reasons import Reason
from notifications.people.consent.hours import QuietHours
from notifications.values.zones import known_zones

START = datetime(2026, 11, 30, 19, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86_400))
ZONES = ["", "Asia/Seoul", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Nowhere/Else"]
NIGHT = QuietHours(time(21), time(8), "Asia/Seoul")

moments = st.integers(-10 * 24 * 60, 3 * 24 * 60).map(lambda minutes: START + minutes * MINUTE)
kinds = st.builds(
    PersonKind,
    zone=st.sampled_from(ZONES),
    counted=st.lists(moments, max_size=4).map(tuple),
    out=st.sampled_from(["", "", "", "unsubscribed"]),
    best_hour=st.none() | st.integers(0, 23),
)
clocks = st.times().map(lambda at: at.replace(second=0, microsecond=0))
nights = st.builds(QuietHours, clocks, clocks, st.just("Asia/Seoul")).filter(
    lambda quiet: quiet.begin != quiet.end
)
caps = st.builds(
    Caps,
    per_day=st.none() | st.integers(1, 3),
    per_week=st.none() | st.integers(1, 5),
    gap=st.none() | st.integers(1, 2_000).map(lambda minutes: minutes * MINUTE),
)
by_the_clock = st.builds(
    LocalTime,
    wall=st.integers(0, 47).map(lambda half: datetime(2026, 12, 1) + half * HOUR / 2),  # noqa: DTZ001
    begins=st.just(START),
    otherwise=st.sampled_from(["", "Asia/Seoul"]),
    passed=st.sampled_from([NEXT_DAY, AT_ONCE, NEVER]),
    lateness=st.just(15 * MINUTE),
    best_hour=st.booleans(),
)
rules = st.builds(
    Rules,
    start=st.just(START),
    ttl=st.integers(1, 2_000).map(lambda minutes: minutes * MINUTE),
    local_time=st.none() | by_the_clock,
    quiet=st.none() | nights,
    caps=st.none() | caps,
    first=st.integers(0, 20),
    wait=st.integers(0, 120).map(lambda minutes: minutes * MINUTE),
)
others = st.builds(
    lambda begins, lasts, rate: Other(begins, begins + lasts * MINUTE, rate),
    moments, st.integers(1, 600), st.floats(0.01, 5),
)  # fmt: skip
rates = st.floats(0.001, 5)
capacities = st.builds(
    lambda full, most, cold, others: Capacity(full, most, cold, 0.01 if cold else 0.0, (*others,)),
    rates, st.none() | rates, st.none() | rates, st.lists(others, max_size=3),
)  # fmt: skip


@st.composite
def people(draw: st.DrawFn) -> People:
    counts = st.integers(0, 12)
    return People.mixed(draw(st.lists(st.tuples(kinds, counts), min_size=1, max_size=5)))


def kind_of(everybody: People, person: int) -> PersonKind:
    return everybody.kinds[everybody.of[person]]


def departures(plan: Plan) -> list[datetime]:
    return sorted(at for n in range(len(plan.at)) if (at := plan.departure(n)))


@given(people(), rules, capacities)
def test_everybody_has_an_instant_or_a_reason_and_no_one_both(
    everybody: People, by: Rules, capacity: Capacity
) -> None:
    plan = solve(everybody, by, capacity)
    for person in range(len(everybody)):
        assert (plan.departure(person) is None) == bool(plan.reason(person))
    assert plan.sent + sum(plan.skipped.values()) == len(everybody)
    assert sum(plan.curve(MINUTE)) == plan.sent == len(departures(plan))


@given(people(), rules, capacities)
def test_nobody_is_rung_outside_their_window(
    everybody: People, by: Rules, capacity: Capacity
) -> None:
    plan = solve(everybody, by, capacity)
    for person in range(len(everybody)):
        kind, at = kind_of(everybody, person), plan.departure(person)
        if at is None:
            continue
        hour = by.local_time.due_for(kind.zone, kind.best_hour) if by.local_time else by.start
        assert hour is not None and not kind.out
        assert max(by.start, hour) <= at < hour + by.ttl
        if isinstance(by.quiet, QuietHours):
            here = ZoneInfo(kind.zone if kind.zone in known_zones() else "Asia/Seoul")
            assert not by.quiet.covers(at.astimezone(here).time())


@given(people(), rules, capacities)
def test_caps_are_never_passed(everybody: People, by: Rules, capacity: Capacity) -> None:
    plan, limits = solve(everybody, by, capacity), by.caps or Caps()
    for person in range(len(everybody)):
        at = plan.departure(person)
        if at is None:
            continue
        got = [one for one in kind_of(everybody, person).counted if one <= at]
        today, week = (sum(one > at - span for one in got) for span in (DAY, 7 * DAY))
        assert limits.per_day is None or today < limits.per_day
        assert limits.per_week is None or week < limits.per_week
        assert limits.gap is None or all(one <= at - limits.gap for one in got)


@given(people(), rules, capacities)
def test_nobody_is_skipped_without_a_cause(
    everybody: People, by: Rules, capacity: Capacity
) -> None:
    """Each reason holds at some moment from the start on; asked as a worker would ask then."""
    plan = solve(everybody, by, capacity)
    for person in range(len(everybody)):
        kind, reason = kind_of(everybody, person), plan.reason(person)
        if reason == Skip.CAPPED:
            assert by.caps and kind.counted
        if reason == Skip.QUIET_HOURS:
            assert by.quiet
        if reason in (Skip.LOCAL_TIME, Skip.NO_ZONE):
            assert by.local_time
            assert by.local_time.knows(kind.zone) == (reason == Skip.LOCAL_TIME)
            assert (
                not by.local_time.knows(kind.zone)
                or by.local_time.due_for(kind.zone, kind.best_hour) is None
            )
        assert not kind.out or reason == kind.out


@given(people(), rules, capacities)
def test_it_is_never_faster_than_the_capacity(
    everybody: People, by: Rules, capacity: Capacity
) -> None:
    least = SECOND / min(capacity.full, capacity.most or capacity.full)
    for before, after in pairwise(departures(solve(everybody, by, capacity))):
        assert after - before >= least - timedelta(microseconds=2)


@given(people(), rules, capacities)
def test_the_same_input_has_the_same_plan(everybody: People, by: Rules, capacity: Capacity) -> None:
    one, other = (solve(everybody, by, capacity) for _ in range(2))
    assert (one.at, one.why, one.reasons) == (other.at, other.why, other.reasons)


@given(people(), rules, capacities, st.data())
def test_a_higher_cap_never_lowers_the_number(
    everybody: People, by: Rules, capacity: Capacity, data: st.DataObject
) -> None:
    strict = replace(by, first=0, caps=by.caps or Caps(per_day=1))
    assert strict.caps
    field = data.draw(st.sampled_from(["per_day", "per_week", "gap"]))
    loose = replace(strict, caps=replace(strict.caps, **{field: None}))
    assert sent(everybody, loose, capacity) >= sent(everybody, strict, capacity)


@given(people(), rules, capacities, st.integers(1, 5_000))
def test_a_later_end_never_lowers_the_number(
    everybody: People, by: Rules, capacity: Capacity, minutes: int
) -> None:
    short = replace(by, first=0)
    longer = replace(short, ttl=by.ttl + minutes * MINUTE)
    assert sent(everybody, longer, capacity) >= sent(everybody, short, capacity)


@given(people(), rules, st.floats(1, 50))
def test_a_higher_rate_never_lowers_the_number(everybody: People, by: Rules, times: float) -> None:
    """But for caps: who is rung sooner may have had enough still."""
    by = replace(by, first=0, caps=None)
    slow, fast = Capacity(0.01), Capacity(0.01 * times)
    assert sent(everybody, by, fast) >= sent(everybody, by, slow)


@given(people(), rules)
def test_without_quiet_hours_no_fewer_are_sent_to(everybody: People, by: Rules) -> None:
    """Where capacity is not short. Where it is, who was asleep takes the place of somebody else."""
    by, ample = replace(by, first=0, caps=None), Capacity(1_000_000)
    assert sent(everybody, replace(by, quiet=None), ample) >= sent(everybody, by, ample)


def sent(everybody: People, by: Rules, capacity: Capacity) -> int:
    return solve(everybody, by, capacity).sent


@given(kinds, rules, moments, st.floats(0, 1))
def test_an_answer_is_the_same_for_as_long_as_it_says(
    kind: PersonKind, by: Rules, now: datetime, share: float
) -> None:
    now = max(now, START)
    answer = check(by, kind, now)
    assert answer.holds_until > now
    last = min(answer.holds_until, now + 400 * DAY) - timedelta(microseconds=1)
    later = check(by, kind, max(now, now + (last - now) * share))
    assert (later.skip, later.waits_until) == (answer.skip, answer.waits_until)


def test_a_skip_has_the_name_of_a_reason() -> None:
    assert {*Skip} <= {reason.value for reason in Reason}


def test_a_first_part_leaves_first_and_the_rest_waits_from_its_last() -> None:
    by = Rules(START, DAY, first=3, wait=HOUR)
    plan = solve(People.mixed([(PersonKind(), 5)]), by, Capacity(1.0))
    waits = [plan.departure(n) for n in range(5)]
    rest = START + 2 * SECOND + HOUR
    assert waits == [START, START + SECOND, START + 2 * SECOND, rest, rest + SECOND]


def test_beside_another_run_it_has_half_or_what_that_one_leaves() -> None:
    everybody = People.mixed([(PersonKind(), 100)])

    def lasts(asked: float) -> float:
        beside = Capacity(10.0, others=(Other(START, START + DAY, asked),))
        last = solve(everybody, Rules(START, DAY), beside).last
        assert last
        return (last - START).total_seconds()

    assert lasts(100.0) == pytest.approx(99 / 5)
    assert lasts(2.0) == pytest.approx(99 / 8)


def test_a_cold_start_climbs_and_cools_while_nobody_is_sent_to() -> None:
    cold = Capacity(10.0, cold=1.0, climb=1.0)
    plan = solve(People.mixed([(PersonKind(), 200)]), Rules(START, DAY), cold)
    by_second = plan.curve(SECOND)
    assert by_second[0] < 3 < by_second[5] < by_second[15] == 10

    # Half of them sleep until eight in Seoul: by then it is cold again.
    halves = [(PersonKind("Europe/Berlin"), 100), (PersonKind("Asia/Seoul"), 100)]
    night = Rules(START - HOUR, DAY, quiet=NIGHT)
    slept = solve(People.mixed(halves), night, cold).curve(SECOND)
    morning = round(5 * HOUR / SECOND)
    assert slept[morning] == slept[0] < 3


def test_whoever_would_wake_too_late_is_skipped_at_once_and_takes_no_place() -> None:
    halves = [(PersonKind("Asia/Seoul"), 10), (PersonKind("America/New_York"), 10)]
    plan = solve(People.mixed(halves), Rules(START, HOUR, quiet=NIGHT), Capacity(1.0))
    assert plan.skipped == {Skip.QUIET_HOURS: 10}
    assert plan.last == START + 9 * SECOND


def test_kinds_are_mixed_evenly() -> None:
    everybody = People.mixed(
        [(PersonKind("A"), 5_000), (PersonKind("B"), 1_000), (PersonKind("C"), 0)]
    )
    assert [everybody.of.count(n) for n in range(3)] == [5_000, 1_000, 0]
    assert 80 < sum(everybody.of[:600]) < 120


@pytest.mark.parametrize("wrong", [{"full": 0}, {"full": 1, "most": 0}, {"full": 1, "cold": 1}])
def test_a_capacity_of_nothing_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Capacity(**wrong)  # type: ignore[arg-type]


def test_a_clock_s_rules_are_those_of_a_run() -> None:
    wall = datetime(2026, 12, 1, 9)  # noqa: DTZ001
    by = LocalTime(wall, local_time.first(wall), "", NEXT_DAY, 15 * MINUTE)
    groups = [(PersonKind("Asia/Seoul"), 1), (PersonKind("Europe/Berlin"), 1), (PersonKind(""), 1)]
    plan = solve(People.mixed(groups), Rules(by.begins, DAY, by), Capacity(100.0))
    assert departures(plan) == [datetime(2026, 12, 1, hour, tzinfo=UTC) for hour in (0, 8)]
    assert plan.skipped == {Skip.NO_ZONE: 1}
