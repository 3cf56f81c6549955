"""Loss: devices that would be skipped for one reason, which has the same name in the result."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.runs.reasons import Reason


@dataclass(frozen=True)
class Loss:
    """Devices that would be skipped. Two losses may name the same device."""

    reason: Reason
    words: str
    devices: int | None  # None if they could not be counted
    of: int | None  # devices looked at
    exact: bool = True  # False if estimated from a sample
    rejected: bool = False  # by FCM; otherwise we skip them
    example: str = ""  # the external id of one of the people
    variable: str = ""
    short: str = ""  # in a list of reasons: “no city”

    def __str__(self) -> str:
        return self.words
