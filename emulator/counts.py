"""The emulator's counters since its start or its last reset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counts:
    since: float
    requests: int = 0
    accepted: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    token_requests: int = 0
    tokens_issued: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0

    def began(self) -> None:
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:
            self.peak_in_flight = self.in_flight

    def ended(self) -> None:
        self.in_flight -= 1

    def reset(self, *, now: float) -> None:
        """Start again, but for the requests in flight: those are a fact, not a memory."""
        self.since = now
        self.requests = self.accepted = self.token_requests = self.tokens_issued = 0
        self.answers.clear()
        self.peak_in_flight = self.in_flight
