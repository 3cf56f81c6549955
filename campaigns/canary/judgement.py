"""Judgement: compares a first part's figures with the campaign's limits. Pure functions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

ENOUGH = 20  # devices that can report; the share of fewer devices is chance


class Missed(StrEnum):
    """A limit that the first part did not meet."""

    ACCEPTED = "accepted"  # FCM accepted none at all: there is nothing to judge by
    REJECTED = "rejected"
    DEAD = "dead"
    RECEIVED = "received"


@dataclass(frozen=True)
class Terms:
    """The limits in percent, frozen at the launch."""

    most_rejected: int
    most_dead: int
    least_received: int

    @classmethod
    def of_run(cls, run: Any) -> Terms:
        return cls(run.first_most_rejected, run.first_most_dead, run.first_least_received)


@dataclass(frozen=True)
class Figures:
    """The results of the first part so far."""

    sent: int  # devices for which a request was sent to FCM
    accepted: int
    rejected: int  # for reasons other than a dead address
    dead: int
    able: int | None  # devices that can report receipts; None: not counted yet
    received: int  # of the devices that can report

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def tells(self, terms: Terms) -> bool:
        """Whether the share of received messages is judged: enough devices can report."""
        return bool(terms.least_received) and (self.able or 0) >= ENOUGH


def missed(figures: Figures, terms: Terms) -> list[Missed]:
    """The limits that were not met; empty: the rest may go.

    It computes in whole numbers, so that a share exactly at its limit is accepted.
    """
    if not figures.accepted:
        return [Missed.ACCEPTED]
    limits = {
        Missed.REJECTED: 100 * figures.rejected > terms.most_rejected * figures.sent,
        Missed.DEAD: 100 * figures.dead > terms.most_dead * figures.sent,
        Missed.RECEIVED: figures.tells(terms)
        and 100 * figures.received < terms.least_received * (figures.able or 0),
    }
    return [limit for limit, is_missed in limits.items() if is_missed]
