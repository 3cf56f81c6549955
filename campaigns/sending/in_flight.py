"""InFlight: a window whose requests have left, or that only holds people to skip."""

from __future__ import annotations

from collections.abc import Collection, Set
from concurrent.futures import Future
from dataclasses import dataclass, field

from campaigns.runs.chunk import Claim
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import Reason
from campaigns.sending.judging import Final, Judged, unsent
from campaigns.sending.left import Left
from campaigns.texts.rendering import Unrenderable
from notifications.gateway import Message, Outcome


@dataclass
class InFlight:
    """Whom it is about, what is decided of them, and the answers to come."""

    window: Window | None
    by_reference: dict[str, Left]
    finals: list[Final] = field(default_factory=list)
    outcomes: Future[list[Outcome]] | None = None

    def still_theirs(self, messages: list[Message], seqs: Set[int]) -> list[Message]:
        """The messages to people whom the window names; the others' devices left them meanwhile."""
        ours = []
        for message in messages:
            left = self.by_reference[message.reference]
            if left.seq in seqs:
                ours.append(message)
            else:
                self.finals.append(unsent(left, Unrenderable(Reason.DEVICE_GONE, "")))
        return ours

    def judge(self, believed: list[Outcome], claim: Claim, *, spared: Collection[str]) -> Judged:
        """What the answers make of its people. Whoever would end for a spared reason waits on."""
        now = claim.now()
        judged = Judged([final for final in self.finals if final.reason not in spared])
        for outcome in believed:
            judged.add(self.by_reference[outcome.reference], outcome, claim.run, now)
        return judged
