"""Simulated sending processes at one real gate in Valkey, on a clock of their own."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.test import override_settings

from notifications.pacing import gate as pacing
from notifications.pacing import share
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate, Grant
from notifications.people.project import Project
from tests.given.forgetting import flush_gate

START = 1_000_000.0
QUICK = 0.001  # seconds that a process takes to come back for more


@dataclass
class Process:
    """One worker process that works on one reference."""

    gate: Gate
    wanted: int = 200
    patience: float = 1.0  # asks again after this part of the wait that it was told
    late: float = 0.0  # and so many seconds after that
    answers: Callable[[int], AnswerCounts] = lambda granted: AnswerCounts(answered=granted)
    heard: AnswerCounts = field(default_factory=AnswerCounts)

    def take(self) -> Grant:
        grant = self.gate.take(self.wanted, self.heard)
        self.heard = self.answers(grant.granted)
        return grant


class Fleet:
    """Processes that always want more. What was granted, to whom and when, is written down."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.now = START
        self.grants: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.processes: list[Process] = []

    def add(self, reference: str, *, count: int = 1, **more: Any) -> list[Process]:
        gate = {
            name: more.pop(name) for name in ("rate", "safe", "lane", "project") if name in more
        }
        added = [Process(self._gate(reference, **gate), **more) for _ in range(count)]
        self.processes += added
        return added

    def _gate(self, reference: str, **more: Any) -> Gate:
        share._shares.clear()  # each of us is another process
        project = more.pop("project", self.project)
        return Gate(project, reference=reference, clock=lambda: self.now, **more)

    def run(self, seconds: float, *, flush_at: tuple[float, ...] = ()) -> None:
        """Everybody asks, waits as told and asks again, for this long."""
        ends, flushes = self.now + seconds, sorted(START + moment for moment in flush_at)
        turns = [(self.now, number) for number in range(len(self.processes))]
        while turns:
            self.now, number = heapq.heappop(turns)
            while flushes and flushes[0] <= self.now:
                flushes.pop(0)
                flush_gate()
            process = self.processes[number]
            grant = process.take()
            self.grants[process.gate.reference].append((self.now, grant.granted))
            again = self.now + (
                QUICK if grant.granted else max(QUICK, grant.wait * process.patience + process.late)
            )
            if again < ends:
                heapq.heappush(turns, (again, number))
        self.now = ends

    def rate(self, reference: str = "", *, last: float) -> float:
        """Messages a second, of one reference or all, in the last seconds."""
        return sum(n for at, n in self._all(reference) if at >= self.now - last) / last

    def most_in(self, seconds: float, reference: str = "") -> int:
        """The fullest of all intervals of so many seconds."""
        grants = self._all(reference)
        times, sums = [at for at, _ in grants], [0]
        for _, count in grants:
            sums.append(sums[-1] + count)
        return max(
            (sums[end] - sums[bisect_left(times, at - seconds)] for end, at in enumerate(times, 1)),
            default=0,
        )

    def _all(self, reference: str) -> list[tuple[float, int]]:
        chosen = [reference] if reference else list(self.grants)
        return sorted(grant for name in chosen for grant in self.grants[name])


@contextmanager
def redis_away() -> Iterator[None]:
    """Nobody listens where the gate was. What it remembers stays."""
    pacing._script.cache_clear()
    try:
        with override_settings(GATE_URL="redis://127.0.0.1:1/0"):
            yield
    finally:
        pacing._script.cache_clear()
