"""Loss: devices that would get nothing, for one reason, as the result will name it."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.runs.reasons import Reason


@dataclass(frozen=True)
class Loss:
    """Devices that would get nothing. Two of them may name the same device."""

    reason: Reason
    words: str
    devices: int | None  # None: nobody could count them
    of: int | None  # so many devices were looked at
    exact: bool = True  # False: of a part of the people
    rejected: bool = False  # by FCM's rules; else we skip them
    example: str = ""  # the external id of one of the people
    variable: str = ""
    short: str = ""  # in a list of reasons: “no city”

    def __str__(self) -> str:
        return self.words
