"""Is it good enough for the rest to follow? Pure: figures and terms in, what is missed out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

ENOUGH = 20  # devices that can tell; a share of fewer is chance


class Missed(StrEnum):
    """Which of the terms was not kept."""

    ACCEPTED = "accepted"  # FCM took none at all: there is nothing to judge by
    REJECTED = "rejected"
    DEAD = "dead"
    RECEIVED = "received"


@dataclass(frozen=True)
class Terms:
    """In percent, as the launch froze them."""

    most_rejected: int
    most_dead: int
    least_received: int

    @classmethod
    def of(cls, run: Any) -> Terms:
        return cls(run.first_most_rejected, run.first_most_dead, run.first_least_received)


@dataclass(frozen=True)
class Figures:
    """What came of the first part so far."""

    sent: int  # devices that FCM was asked for
    accepted: int
    rejected: int  # for another reason than a dead address
    dead: int
    able: int | None  # devices that can tell what they received; None: nobody has counted them yet
    received: int  # of these

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def tells(self, terms: Terms) -> bool:
        """Whether what was received is judged."""
        return bool(terms.least_received) and (self.able or 0) >= ENOUGH


def missed(figures: Figures, terms: Terms) -> list[Missed]:
    """Nothing: the rest may go. In whole numbers, so that a share on the bound is kept."""
    if not figures.accepted:
        return [Missed.ACCEPTED]
    found = {
        Missed.REJECTED: 100 * figures.rejected > terms.most_rejected * figures.sent,
        Missed.DEAD: 100 * figures.dead > terms.most_dead * figures.sent,
        Missed.RECEIVED: figures.tells(terms)
        and 100 * figures.received < terms.least_received * (figures.able or 0),
    }
    return [one for one, is_missed in found.items() if is_missed]
