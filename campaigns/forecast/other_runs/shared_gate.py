"""Shared gate: when each of several runs at one gate ends, and how many of its messages leave when.

Each run has a line of its own in the solver. Each gets an equal part of what the gate lets through,
or what the others leave, as in `notifications/pacing/gate.lua`. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from heapq import heapify, heappop, heappush

from campaigns.forecast.course import drawn, fewer, in_proportion
from campaigns.forecast.solver.capacity import SECOND, STEP, Other
from campaigns.forecast.solver.plan import NEVER, Plan
from campaigns.forecast.solver.rules import People, PersonKind, Rules
from campaigns.forecast.solver.solving import Line

MAX_PEOPLE = 10_000  # in equal parts from all runs; each stands for others
MAX_OF_ONE, MIN_OF_ONE = 1_000, 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)  # in every time zone, each hour begins with a quarter
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Gate:
    """What one Firebase project lets through, in messages a second."""

    full: float
    cold: float  # the rate at the start
    climb: float = 0.0  # gained each second; 0: the full rate at once


@dataclass(frozen=True)
class RunRequest:
    """What one run asks for: who gets it, by which rules, and the rate that it would use alone."""

    kinds: Mapping[PersonKind, int]  # devices
    gets_it: int
    rules: Rules
    rate: float
    exact: bool = True  # False: how many get it is an estimate


@dataclass(frozen=True)
class RunResult:
    """How one run goes beside the others: its plan and its losses."""

    asks: RunRequest
    plan: Plan
    each: int  # how many devices one person of the plan stands for

    @property
    def ends_at(self) -> datetime | None:
        return self.plan.last

    @property
    def sent(self) -> int:
        return self.asks.gets_it - self.too_late

    @property
    def too_late(self) -> int:
        """How many get nothing: it expires before their turn, or while they sleep."""
        return sum(self.skipped.values())

    @cached_property
    def skipped(self) -> dict[str, int]:
        """How many get nothing, by reason, scaled to all of `gets_it`."""
        by_reason = self.plan.skipped
        *counts, _sent = in_proportion([*by_reason.values(), self.plan.sent], self.asks.gets_it)
        return dict(zip(by_reason, counts, strict=True))

    @cached_property
    def quarters(self) -> dict[datetime, int]:
        """How many messages leave in each quarter of an hour, by its beginning."""
        start, width = _to_microseconds(self.plan.start), QUARTER // MICROSECOND
        counted = Counter((start + at) // width for at in self.plan.at if at != NEVER)
        numbers = sorted(counted)
        many = in_proportion([counted[n] for n in numbers], self.sent)
        return {EPOCH + n * QUARTER: count for n, count in zip(numbers, many, strict=True)}

    @property
    def stretches(self) -> list[Other]:
        """When the run uses the gate: not while everybody who waits sleeps."""
        spans: list[tuple[datetime, datetime]] = []
        for begins in self.quarters:
            since = spans.pop()[0] if spans and spans[-1][1] == begins else begins
            spans.append((since, begins + QUARTER))
        first, last = self.plan.first, self.plan.last
        return [
            Other(max(since, first), min(until, last), self.asks.rate)
            for since, until in spans
            if first and last and max(since, first) < min(until, last)
        ]


def simulate(runs: Sequence[RunRequest], gate: Gate) -> list[RunResult]:
    """Compute how the runs go, in the order given. The same runs always go the same way."""
    gate_state = _GateState(gate)
    draw = _PeopleSampler(max(MIN_OF_ONE, min(MAX_OF_ONE, MAX_PEOPLE // max(1, len(runs)))))
    lines, scales = [], []
    for number, run in enumerate(runs):
        people, rules, scale = draw(run)
        place = _GatePlace(gate_state, number, _to_microseconds(rules.start), run.rate, scale)
        lines.append(Line(people, rules, place))
        scales.append(scale)
    _advance_lines(lines, [_to_microseconds(run.rules.start) for run in runs], gate_state)
    return [
        RunResult(run, line.plan, scale)
        for run, line, scale in zip(runs, lines, scales, strict=True)
    ]


class _PeopleSampler:
    """Samples the people of runs. The runs of a series share their people: these are drawn once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[int, int], tuple[People, int]] = {}

    def __call__(self, run: RunRequest) -> tuple[People, Rules, int]:
        key = id(run.kinds), run.gets_it
        if key not in self._known:
            people, _rules, scale = drawn(run.kinds, run.gets_it, run.rules, most=self._most)
            self._known[key] = people, scale
        people, scale = self._known[key]
        return people, fewer(run.rules, scale), scale


def _advance_lines(lines: list[Line], starts: list[int], gate_state: _GateState) -> None:
    """Advance the lines: always the one whose next message is due first."""
    ways: list[Iterator[None]] = [line.steps() for line in lines]
    queue: list[tuple[float, int]] = [(start, number) for number, start in enumerate(starts)]
    heapify(queue)
    while queue:
        _at, number = heappop(queue)
        line, start = lines[number], starts[number]
        line.stops_at = queue[0][0] - start if queue else float("inf")
        if next(ways[number], ways) is ways:
            gate_state.leave(number)
        else:
            heappush(queue, (start + line.now, number))


class _GateState:
    """The gate as time passes: its rate climbs while a run sends, and falls as fast as it rose."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._cold = min(gate.cold, gate.full) if gate.climb else gate.full
        self._level, self._at = self._cold, 0.0
        self._asking: dict[int, float] = {}

    def share(self, number: int, rate: float, now: float) -> float:
        passed = max(0.0, now - self._at) * self._gate.climb / SECOND
        level = self._level + (passed if self._asking else -passed)
        self._level, self._at = min(self._gate.full, max(self._cold, level)), max(self._at, now)
        self._asking[number] = rate
        others_rate = sum(self._asking.values()) - rate
        return min(rate, max(self._level / len(self._asking), self._level - others_rate))

    @property
    def climbs(self) -> bool:
        return self._level < self._gate.full

    def leave(self, number: int) -> None:
        self._asking.pop(number, None)


class _GatePlace:
    """One run's place at the gate: its line asks it for the pace."""

    def __init__(
        self, gate_state: _GateState, number: int, start: int, rate: float, scale: int
    ) -> None:
        self._there, self._number, self._start = gate_state, number, start
        self._rate, self._each = rate, scale

    def gap(self, now: float) -> tuple[float, float]:
        share = self._there.share(self._number, self._rate, self._start + now)
        gap = self._each * SECOND / share
        return gap, now + max(STEP, gap) if self._there.climbs else float("inf")

    def rest(self, passed: float) -> None:
        self._there.leave(self._number)


def _to_microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND
