"""Plan: the solver's result. Each person has an instant, or a reason why they get nothing."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from campaigns.forecast.solver.capacity import SECOND

NEVER = -1


@dataclass(frozen=True)
class Plan:
    start: datetime
    at: array[int]  # in microseconds from the start; NEVER: they get nothing
    why: array[int]  # then: the number of the reason
    reasons: list[str]

    @cached_property
    def skipped(self) -> dict[str, int]:
        """How many people get nothing, by reason."""
        counted = Counter(self.why)
        return {reason: counted[n] for n, reason in enumerate(self.reasons) if n and counted[n]}

    @cached_property
    def sent(self) -> int:
        return len(self.at) - sum(self.skipped.values())

    def departure(self, person: int) -> datetime | None:
        at = self.at[person]
        return None if at == NEVER else self._instant(at)

    def reason(self, person: int) -> str:
        return self.reasons[self.why[person]]

    @cached_property
    def first(self) -> datetime | None:
        return (
            self._instant(min(instant for instant in self.at if instant != NEVER))
            if self.sent
            else None
        )

    @cached_property
    def last(self) -> datetime | None:
        return self._instant(max(self.at)) if self.sent else None

    def curve(self, step: timedelta) -> list[int]:
        """Return how many messages leave in each step, from the start to the last one."""
        width = round(step.total_seconds() * SECOND)
        counted = Counter(instant // width for instant in self.at if instant != NEVER)
        return [counted[n] for n in range(max(counted, default=-1) + 1)]

    def _instant(self, at: int) -> datetime:
        return self.start + timedelta(microseconds=at)
