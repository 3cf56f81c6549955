"""FCM signals: what FCM's answers say about our send rate, for the gate and for `share.py`."""

from __future__ import annotations

from dataclasses import dataclass

from notifications.fcm.rules import MAX_TTL
from notifications.fcm.verdicts import DEFAULT_RETRY_AFTER

LONGEST_CLOSURE = float(MAX_TTL)  # by then every message has expired
FEW = 3  # fewer 429s prove nothing


@dataclass(frozen=True)
class AnswerCounts:
    """The answers since the last `take`."""

    answered: int = 0  # answers that do not object to our rate
    pushed_back: int = 0  # 429s for the project
    failing: int = 0  # 5xx, timeouts, and requests that could not leave
    retry_after: float | None = None  # the longest Retry-After of a 429
    failing_for: float = 0.0  # the longest Retry-After of a failure
    tried: bool = False  # a trial's answer is among these; Gate sets it

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        return AnswerCounts(
            self.answered + other.answered,
            self.pushed_back + other.pushed_back,
            self.failing + other.failing,
            max(self.retry_after or 0.0, other.retry_after or 0.0) or None,
            max(self.failing_for, other.failing_for),
            self.tried or other.tried,
        )

    @property
    def closes_for(self) -> float:
        """The seconds for which no message may leave.

        A 429 always has a time: a minute if FCM names none (`verdicts.py`). If FCM names 0, only
        many 429s close the gate.
        """
        if self.retry_after:
            return min(self.retry_after, LONGEST_CLOSURE)
        spent = self.pushed_back >= FEW and self.pushed_back > self.answered
        return DEFAULT_RETRY_AFTER if spent else 0.0
