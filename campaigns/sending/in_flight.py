"""InFlight: a window whose requests have left, or that has only recipients to skip or delay."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime

from campaigns.runs.claiming import Claim, Opened
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import Reason
from campaigns.sending.judge_answers import Final, Judged, unsent
from campaigns.sending.unsettled import UnsettledRecipient
from campaigns.texts.rendering import Unrenderable
from notifications.gateway import Outcome, Push, Verdict
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.tracing.tracing import NO_SPAN, Span

FAILING = {Verdict.TRANSIENT, Verdict.UNANSWERED}  # FCM, or the way to it, is in trouble
# Reasons that do not depend on the text. Recipients skipped because of the text are tried again if
# a person changed it.
WHATEVER_IT_SAYS = {
    *(Reason.UNSUBSCRIBED, Reason.SUPPRESSED, Reason.DEVICE_GONE),
    *(Reason.EXPIRED, Reason.QUIET_HOURS, Reason.LOCAL_TIME, Reason.NO_ZONE),
    *(Reason.CAPPED, Reason.ONLINE, Reason.CONTROL, Reason.HOLDOUT),
}
NOTHING_SAID = {Verdict.ACCEPTED, Verdict.UNSENT}  # nothing to keep beside the delivery


@dataclass
class InFlight:
    """A window's recipients, what is decided for them, and the answers to come."""

    window: Window | None
    by_reference: dict[str, UnsettledRecipient]
    finals: list[Final] = field(default_factory=list)
    # Recipients that wait: until when, and the reason.
    waiting: list[tuple[UnsettledRecipient, datetime, Reason]] = field(default_factory=list)
    outcomes: Future[list[Outcome]] | None = None
    span: Span = NO_SPAN

    @property
    def revision(self) -> int:
        """The revision of the run's text that its requests have."""
        return next(iter(self.by_reference.values())).settings.revision

    @property
    def hangs_on_its_text(self) -> bool:
        """Whether a recipient is skipped or rejected because of the text."""
        return any(final.reason not in WHATEVER_IT_SAYS for final in self.finals)

    def still_wanted(
        self, pushes: list[Push], opened: Opened, later: Collection[int]
    ) -> list[Push]:
        """The pushes to recipients whom the window names.

        The others left or unsubscribed meanwhile, and are skipped. For those in `later` nothing is
        decided.
        """
        wanted = []
        for push in pushes:
            left = self.by_reference[push.reference]
            if left.seq in opened.seqs:
                wanted.append(push)
            elif left.seq not in later:
                reason = opened.out.get(left.seq, (Reason.DEVICE_GONE, ""))
                self.finals.append(unsent(left, Unrenderable(*reason)))
        return wanted

    def judge(self, outcomes: list[Outcome], claim: Claim, *, spared: Collection[str]) -> Judged:
        """The outcomes and retries that follow from the answers. A recipient who would end for a
        spared reason keeps waiting."""
        now = claim.now()
        judged = Judged([final for final in self.finals if final.reason not in spared])
        for left, until, reason in self.waiting:
            judged.let_wait(left, until, reason)
        for outcome in outcomes:
            left = self.by_reference[outcome.reference]
            if outcome.verdict not in NOTHING_SAID:
                judged.unaccepted.append((left, outcome))
            if outcome.reason not in spared:
                judged.add(left, outcome, now)
        return judged


def heard_in(outcomes: list[Outcome]) -> AnswerCounts:
    """What a window's answers say about our rate, for the gate.

    A device's own limit says nothing. Neither does an unexpected answer: it shows neither that FCM
    delivers nor that it fails.
    """
    outcomes = [outcome for outcome in outcomes if outcome.reason != Reason.UNKNOWN_ANSWER]
    pushed_back = [outcome for outcome in outcomes if outcome.reason == Reason.THROTTLED]
    failing = [outcome for outcome in outcomes if outcome.verdict in FAILING]
    # This process waits for Retry-After, but the shared gate has lost it: report it again.
    shut_out = [outcome for outcome in outcomes if outcome.verdict is Verdict.UNSENT]
    return AnswerCounts(
        answered=len(outcomes) - len(pushed_back) - len(failing) - len(shut_out),
        pushed_back=len(pushed_back),
        failing=len(failing),
        retry_after=max(
            (answer.retry_after or 0.0 for answer in pushed_back + shut_out), default=None
        ),
        failing_for=max((answer.retry_after or 0.0 for answer in failing), default=0.0),
    )
