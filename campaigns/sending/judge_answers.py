"""Judge answers: decides from an answer whether a recipient is final, tried again, or still waits.

Retries follow Google's advice: nothing is tried again within 10 s unless FCM itself names a shorter
time. A 429 waits as long as it says, else a minute. A request that surely did not arrive is tried
until the deadline. One that may have arrived is sent at most three times; after that, only a person
can send it again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from campaigns.runs.ledger import MAX_COPIES, Delivery, Retry
from campaigns.runs.reasons import NOBODY_KNOWS, Reason
from campaigns.runs.run import Run
from campaigns.sending.unsettled import UnsettledRecipient
from campaigns.texts.rendering import Unrenderable
from notifications.gateway import Arrived, Outcome, Verdict

Status = Delivery.Status
REFUSED = {
    Verdict.DEAD_ADDRESS,
    Verdict.BAD_ADDRESS,
    Verdict.FOREIGN_ADDRESS,
    Verdict.PLATFORM_KEY,
    Verdict.BAD_MESSAGE,
}
AGAIN = {Verdict.THROTTLED, Verdict.TRANSIENT, Verdict.UNANSWERED}

MAX_BROKEN = 2  # requests, if the connection breaks after one was written: it likely arrived
GIVE_UP_AFTER = timedelta(minutes=60)
FIRST_WAIT = 10.0
A_MINUTE = 60.0
LONGEST_WAIT = 600.0
ONE_DEVICE = (Reason.DEVICE_THROTTLED, Reason.UNKNOWN_ANSWER)


@dataclass(slots=True)
class Final:
    """A delivery about to be written."""

    left: UnsettledRecipient
    status: Delivery.Status
    reason: str = ""
    detail: str = ""
    message_id: str = ""
    requested: bool = True  # a request left for it just now
    left_before: int | None = None  # if none left now: the text's revision in an earlier request

    @property
    def message(self) -> int | None:
        return self.left.message

    @property
    def external_id(self) -> str | None:
        return self.left.reader.external_id

    @property
    def address(self) -> str | None:
        return self.left.reader.address

    @property
    def platform(self) -> str | None:
        return self.left.reader.platform

    @property
    def revision(self) -> int:
        return self.left_before or self.left.settings.revision

    @property
    def resent(self) -> bool:
        """Whether the phone may have got two copies."""
        return self.left.copies + self.requested > 1


@dataclass(slots=True)
class Judged:
    """What is to be written for a window's recipients."""

    finals: list[Final] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    to_retry: list[UnsettledRecipient] = field(
        default_factory=list
    )  # the recipients of retries after an answer
    copies: int = 0  # requests that may have arrived
    # Answers that accepted nothing, whether or not they are believed.
    unaccepted: list[tuple[UnsettledRecipient, Outcome]] = field(default_factory=list)

    def let_wait(self, left: UnsettledRecipient, until: datetime, reason: Reason) -> None:
        """Let a recipient wait until this time; skip them if their deadline comes first."""
        if until < left.deadline:
            self.retries.append(_retry_at(left, until, reason))
        else:
            self.finals.append(unsent(left, Unrenderable(Reason.QUIET_HOURS, "")))

    def add(self, left: UnsettledRecipient, outcome: Outcome, now: datetime) -> None:
        self.copies += outcome.arrived is not Arrived.NO
        judged = judge(left, outcome, now)
        if isinstance(judged, Final):
            self.finals.append(judged)
        elif judged is not None:
            self.retries.append(judged)
            self.to_retry.append(left)

    @property
    def people(self) -> list[UnsettledRecipient]:
        """The recipients with an outcome, and those to retry after an answer."""
        return [*(final.left for final in self.finals), *self.to_retry]

    def accepted_since(self) -> list[datetime]:
        """For each accepted message: when it could leave first."""
        accepted = (final.left for final in self.finals if final.status == Status.ACCEPTED)
        return [left.could_leave_at for left in accepted if left.could_leave_at]


def may_be_sent_to(left: UnsettledRecipient) -> bool:
    """Whether another request may leave. Under `hold`, not if one may have arrived; a person's
    “send again” allows one more."""
    holds = left.settings.on_unknown == Run.OnUnknown.HOLD and not left.released
    return left.copies < (1 if holds else MAX_COPIES)


def interrupted(left: UnsettledRecipient) -> Final:
    """The unknown outcome of a recipient whose worker died, and who must not be tried again."""
    return Final(left, Status.UNKNOWN, Reason.INTERRUPTED, requested=False)


def unsent(left: UnsettledRecipient, problem: Unrenderable) -> Final:
    """The outcome of a recipient for whom no request leaves, because of this problem."""
    if left.ambiguous:  # a person who may have got it already is neither skipped nor rejected
        final = _unknown_outcome(left, problem.reason, problem.stored_detail)
        final.requested = False
        return final
    status = Status.REJECTED if problem.rejected else Status.SKIPPED
    return Final(left, status, problem.reason, problem.stored_detail, requested=False)


def _retry_at(left: UnsettledRecipient, at: datetime, reason: Reason) -> Retry:
    """A retry for a recipient who waits for their time. It does not count as a try."""
    return Retry(
        seq=left.seq,
        tries=left.tries,
        first_tried_at=at,
        not_before=at,
        reason=reason,
        ambiguous=left.copies > left.in_windows,
        copies=left.copies - left.in_windows,
    )


def judge(left: UnsettledRecipient, outcome: Outcome, now: datetime) -> Final | Retry | None:
    """The outcome or the retry that follows from an answer; None: the recipient keeps waiting."""
    if outcome.verdict is Verdict.ACCEPTED:
        return Final(left, Status.ACCEPTED, message_id=outcome.message_id)
    if outcome.verdict in REFUSED:
        if left.ambiguous:  # this one did not arrive; the one before may have
            return _unknown_outcome(left, outcome.reason, outcome.detail)
        return Final(left, Status.REJECTED, outcome.reason, outcome.detail)
    if outcome.verdict not in AGAIN:
        return None
    if outcome.arrived is Arrived.MAYBE and left.settings.on_unknown == Run.OnUnknown.HOLD:
        return _unknown_outcome(left, outcome.reason, outcome.detail)
    return _again(left, outcome, now)


def _again(left: UnsettledRecipient, outcome: Outcome, now: datetime) -> Final | Retry:
    copies = left.copies + (outcome.arrived is Arrived.MAYBE)
    first_tried_at = left.first_tried_at or now
    next_try = now + _wait(left.tries, outcome)
    late = next_try > left.deadline
    if late or _is_hopeless(left, outcome, copies, next_try - first_tried_at):
        return _end_recipient(left, outcome, copies, expired=late)
    return Retry(
        seq=left.seq,
        tries=left.tries + 1,
        first_tried_at=first_tried_at,
        not_before=next_try,
        reason=outcome.reason,
        ambiguous=copies > left.in_windows,
        copies=copies - left.in_windows,
    )


def _is_hopeless(
    left: UnsettledRecipient, outcome: Outcome, copies: int, tried_for: timedelta
) -> bool:
    if outcome.arrived is Arrived.MAYBE:
        return copies >= (MAX_BROKEN if outcome.verdict is Verdict.UNANSWERED else MAX_COPIES)
    if outcome.reason == Reason.UNKNOWN_ANSWER:  # tried once more, late, and then believed
        return left.tries >= 1
    limited = outcome.reason == Reason.DEVICE_THROTTLED and (outcome.retry_after or 0.0) <= A_MINUTE
    return limited and tried_for > GIVE_UP_AFTER


def _end_recipient(
    left: UnsettledRecipient, outcome: Outcome, copies: int, *, expired: bool
) -> Final:
    if copies:
        return _unknown_outcome(left, outcome.reason, outcome.detail)
    if expired:
        return Final(left, Status.SKIPPED, Reason.EXPIRED, f"last answer: {outcome.reason}")
    return Final(left, Status.REJECTED, outcome.reason, outcome.detail)


def _unknown_outcome(left: UnsettledRecipient, reason: str, detail: str) -> Final:
    """An unknown outcome. Its reason says why it is unknown; a later reason that ended the tries
    becomes the detail."""
    if reason not in NOBODY_KNOWS:
        reason, detail = Reason.UNANSWERED, f"at last: {reason}"
    return Final(left, Status.UNKNOWN, reason, detail)


def _wait(tries: int, outcome: Outcome) -> timedelta:
    """The wait until the next try: FCM's Retry-After if it gave one, else doubling from 10 s.

    The wait with Retry-After grows with the tries, too: “Retry-After: 0” would be tried again
    without end.
    """
    first = A_MINUTE if outcome.reason in ONE_DEVICE else FIRST_WAIT
    if outcome.retry_after is not None and outcome.reason not in ONE_DEVICE:
        first = 1.0
    # Without a network, this address is not at fault, and the gate lets few tries through.
    longest = A_MINUTE if outcome.reason == Reason.UNREACHABLE else LONGEST_WAIT
    seconds = max(outcome.retry_after or 0.0, min(first * 2.0 ** min(tries, 20), longest))
    return timedelta(seconds=seconds + random.uniform(0.0, min(seconds / 4, A_MINUTE)))
