"""The line at the gate: people leave one after another, as fast as the capacity lets them, and are
asked when it is their turn.

Who may not be rung then costs no capacity: they get nothing, or come again when their hour does.
Who came first leaves first, and of those who came together the first of the run.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from datetime import datetime, timedelta
from heapq import heappop, heappush

from campaigns.planning.solver.asking import Answer, ask
from campaigns.planning.solver.capacity import Capacity, Pace
from campaigns.planning.solver.plan import NEVER, Plan
from campaigns.planning.solver.rules import People, Rules

MICROSECOND = timedelta(microseconds=1)


def solve(people: People, rules: Rules, capacity: Capacity) -> Plan:
    """The same people, rules and capacity have the same plan, always."""
    line = Line(people, rules, capacity)
    first = rules.first if 0 < rules.first < len(people) else 0
    if first:
        line.serve(range(first))
        line.rest_until(line.ended + rules.wait / MICROSECOND)
    line.serve(range(first, len(people)))
    return Plan(rules.start, line.at, line.why, [*line.reasons])


class Line:
    def __init__(self, people: People, rules: Rules, capacity: Capacity) -> None:
        self._people, self._rules = people, rules
        self._pace = Pace(capacity, rules.start)
        self._now = 0.0
        self.ended = 0.0  # when the last one left
        self.at = array("q", [NEVER]) * len(people)
        self.why = array("B", [0]) * len(people)
        self.reasons = {"": 0}
        kinds = len(people.kinds)
        self._may_until = [-1.0] * kinds  # rung, without asking again
        self._holds_until = [-1.0] * kinds
        self._answers: list[Answer | None] = [None] * kinds
        self._coming: dict[int, list[int]] = {}  # who comes when
        self._when: list[int] = []

    def serve(self, people: Iterable[int]) -> None:
        """All of them, until nobody waits any more."""
        self._leave(people)
        while self._when:
            at = heappop(self._when)
            self.rest_until(float(at))
            self._leave(sorted(self._coming.pop(at)))

    def rest_until(self, at: float) -> None:
        if at > self._now:
            self._pace.rest(at - self._now)
            self._now = at

    def _leave(self, people: Iterable[int]) -> None:
        of, may_until, left_at = self._people.of, self._may_until, self.at
        now, gap, even_until = self._now, 0.0, -1.0
        for person in people:
            kind = of[person]
            if now < may_until[kind] or self._may_leave(person, kind, now):
                if now >= even_until:
                    gap, even_until = self._pace.gap(now)
                left_at[person] = int(now)
                self.ended = now
                now += gap
        self._now = now

    def _may_leave(self, person: int, kind: int, now: float) -> bool:
        """If not, they are told why, or come again."""
        answer = self._ask(kind, now)
        if answer.skip:
            self.why[person] = self.reasons.setdefault(answer.skip, len(self.reasons))
        elif answer.waits_until:
            self._come(person, _since(self._rules.start, answer.waits_until))
        return not (answer.skip or answer.waits_until)

    def _come(self, person: int, at: int) -> None:
        if at not in self._coming:
            self._coming[at] = []
            heappush(self._when, at)
        self._coming[at].append(person)

    def _ask(self, kind: int, now: float) -> Answer:
        known = self._answers[kind]
        if known is not None and now < self._holds_until[kind]:
            return known
        moment = self._rules.start + timedelta(microseconds=int(now))
        answer = ask(self._rules, self._people.kinds[kind], moment)
        until = float(_since(self._rules.start, answer.holds_until))
        self._answers[kind], self._holds_until[kind] = answer, until
        self._may_until[kind] = -1.0 if answer.skip or answer.waits_until else until
        return answer


def _since(start: datetime, at: datetime) -> int:
    return (at - start) // MICROSECOND
