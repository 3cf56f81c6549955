"""The emulator's counters since its start or its last reset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(slots=True)
class Counts:
    requests: int = 0
    accepted: int = 0
    validated: int = 0  # in order, and delivered to nobody, as was asked for
    answers: Counter[str] = field(default_factory=Counter)
    token_requests: int = 0
    tokens_issued: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    connections: int = 0  # open now

    def began(self) -> None:
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:
            self.peak_in_flight = self.in_flight

    def end_request(self) -> None:
        self.in_flight -= 1

    def reset(self) -> None:
        """Start again, but for what is open and in flight: that is a fact, not a memory."""
        self.requests = self.accepted = self.validated = 0
        self.token_requests = self.tokens_issued = 0
        self.answers.clear()
        self.peak_in_flight = self.in_flight

    def values(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def together(counted: Iterable[dict[str, Any]]) -> Counts:
    """What several processes have counted. Their peaks need not have been at one time."""
    total = Counts()
    for values in counted:
        for name, value in values.items():
            if name == "answers":
                total.answers.update(value)
            else:
                setattr(total, name, getattr(total, name) + value)
    return total
