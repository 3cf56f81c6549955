"""Solving: people wait in line at the gate and leave one by one, as fast as the capacity allows.
Each person is checked when it is their turn.

A person who may not get a message then costs no capacity: they get nothing, or return at their own
time. First come, first served; people who come together leave in the order of the run.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Protocol

from campaigns.forecast.solver.capacity import Capacity, Pace
from campaigns.forecast.solver.eligibility import Answer, check
from campaigns.forecast.solver.plan import NEVER, Plan
from campaigns.forecast.solver.rules import People, Rules

MICROSECOND = timedelta(microseconds=1)


class Turns(Protocol):
    """What tells a run how fast it may go."""

    def gap(self, now: float) -> tuple[float, float]: ...

    def rest(self, passed: float) -> None: ...


def solve(people: People, rules: Rules, capacity: Capacity) -> Plan:
    """Compute the plan. The same people, rules and capacity always have the same plan."""
    line = Line(people, rules, Pace(capacity, rules.start))
    for _stop in line.steps():  # there is none: nobody shares the gate
        pass
    return line.plan


class Line:
    """The line of one run's people. All instants are microseconds from the start of the run."""

    def __init__(self, people: People, rules: Rules, pace: Turns) -> None:
        self._people, self._rules, self._pace = people, rules, pace
        self.now = 0.0
        self.stops_at = float("inf")  # after this, another run at the same gate goes first
        self._ended = 0.0  # when the last one left
        self._at = array("q", [NEVER]) * len(people)
        self._why = array("B", [0]) * len(people)
        self._reasons = {"": 0}
        kinds = len(people.kinds)
        self._may_until = [-1.0] * kinds  # may leave, without asking again
        self._holds_until = [-1.0] * kinds
        self._answers: list[Answer | None] = [None] * kinds
        self._coming: dict[int, list[int]] = {}  # which people return when
        self._when: list[int] = []

    @property
    def plan(self) -> Plan:
        return Plan(self._rules.start, self._at, self._why, [*self._reasons])

    def steps(self) -> Iterator[None]:
        """Serve until everybody has left or has a reason why not. Yields when another run goes
        first."""
        people, rules = len(self._people), self._rules
        first = rules.first if 0 < rules.first < people else 0
        if first:
            yield from self._serve(range(first))
            self._rest_until(self._ended + rules.wait / MICROSECOND)
        yield from self._serve(range(first, people))

    def _serve(self, people: Iterable[int]) -> Iterator[None]:
        """Serve all of these people, until nobody waits any more."""
        yield from self._let_leave(people)
        while self._when:
            at = heappop(self._when)
            self._rest_until(float(at))
            yield from self._let_leave(sorted(self._coming.pop(at)))

    def _rest_until(self, at: float) -> None:
        if at > self.now:
            self._pace.rest(at - self.now)
            self.now = at

    def _let_leave(self, people: Iterable[int]) -> Iterator[None]:
        of, may_until, left_at = self._people.of, self._may_until, self._at
        now, gap, even_until = self.now, 0.0, -1.0
        for person in people:
            if now > self.stops_at:
                self.now, even_until = now, -1.0
                yield
            kind = of[person]
            if now < may_until[kind] or self._may_leave(person, kind, now):
                if now >= even_until:
                    gap, even_until = self._pace.gap(now)
                left_at[person] = int(now)
                self._ended = now
                now += gap
        self.now = now

    def _may_leave(self, person: int, kind: int, now: float) -> bool:
        """Whether the person may leave now. If not, note the reason, or when they return."""
        answer = self._check_kind(kind, now)
        if answer.skip:
            self._why[person] = self._reasons.setdefault(answer.skip, len(self._reasons))
        elif answer.waits_until:
            self._schedule_return(
                person, _microseconds_since(self._rules.start, answer.waits_until)
            )
        return not (answer.skip or answer.waits_until)

    def _schedule_return(self, person: int, at: int) -> None:
        if at not in self._coming:
            self._coming[at] = []
            heappush(self._when, at)
        self._coming[at].append(person)

    def _check_kind(self, kind: int, now: float) -> Answer:
        last_answer = self._answers[kind]
        if last_answer is not None and now < self._holds_until[kind]:
            return last_answer
        moment = self._rules.start + timedelta(microseconds=int(now))
        answer = check(self._rules, self._people.kinds[kind], moment)
        until = float(_microseconds_since(self._rules.start, answer.holds_until))
        self._answers[kind], self._holds_until[kind] = answer, until
        self._may_until[kind] = -1.0 if answer.skip or answer.waits_until else until
        return answer


def _microseconds_since(start: datetime, at: datetime) -> int:
    return (at - start) // MICROSECOND
