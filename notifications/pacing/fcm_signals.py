"""What a process heard of FCM, for the gate and for itself when the gate is away."""

from __future__ import annotations

from dataclasses import dataclass

from notifications.fcm.rules import MAX_TTL
from notifications.fcm.verdicts import DEFAULT_RETRY_AFTER

LONGEST_CLOSURE = float(MAX_TTL)  # by then nothing is worth sending
FEW = 3  # 429s that prove nothing


@dataclass(frozen=True)
class Heard:
    """What came back since the last take."""

    answered: int = 0  # and said nothing against our pace
    pushed_back: int = 0  # the project's 429s
    failing: int = 0  # 5xx, timeouts, and requests that could not leave
    retry_after: float | None = None  # the longest seen with a 429
    failing_for: float = 0.0  # and with a failure
    tried: bool = False  # a trial's answer is among these; a Gate sees to it

    def __add__(self, other: Heard) -> Heard:
        return Heard(
            self.answered + other.answered,
            self.pushed_back + other.pushed_back,
            self.failing + other.failing,
            max(self.retry_after or 0.0, other.retry_after or 0.0) or None,
            max(self.failing_for, other.failing_for),
            self.tried or other.tried,
        )

    @property
    def closes_for(self) -> float:
        """Seconds for which nothing may leave.

        A 429 always names a time, a minute when FCM does not (`verdicts.py`); of those that say 0,
        only a flood closes the gate.
        """
        if self.retry_after:
            return min(self.retry_after, LONGEST_CLOSURE)
        spent = self.pushed_back >= FEW and self.pushed_back > self.answered
        return DEFAULT_RETRY_AFTER if spent else 0.0
