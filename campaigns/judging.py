"""What an answer makes of a recipient: a final row, another try with its due time, or nothing yet.

Retries as Google advises: nothing is tried again within 10 s unless FCM itself names a shorter
time; a 429 waits as long as it says, else a minute; after an hour, or at the deadline, it is over.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from campaigns.ledger import Delivery, Retry
from campaigns.left import Left
from campaigns.reasons import Reason
from campaigns.rendering import Unrenderable
from campaigns.run import Run
from notifications.gateway import Outcome, Verdict

Status = Delivery.Status
REFUSED = {
    Verdict.DEAD_ADDRESS,
    Verdict.BAD_ADDRESS,
    Verdict.FOREIGN_ADDRESS,
    Verdict.PLATFORM_KEY,
    Verdict.BAD_MESSAGE,
}
AGAIN = {Verdict.THROTTLED, Verdict.TRANSIENT, Verdict.UNANSWERED}

GIVE_UP_AFTER = timedelta(minutes=60)
FIRST_WAIT = 10.0
A_MINUTE = 60.0
LONGEST_WAIT = 600.0


@dataclass(slots=True)
class Final:
    """A delivery about to be written."""

    left: Left
    status: Delivery.Status
    reason: str = ""
    detail: str = ""
    message_id: str = ""
    requested: bool = True  # a request left for it just now

    @property
    def resent(self) -> bool:
        """Whether the phone may have got two."""
        return self.left.copies + self.requested > 1


def unsent(left: Left, problem: Unrenderable) -> Final:
    """No request leaves for this recipient, and this is why."""
    status = Status.REJECTED if problem.rejected else Status.SKIPPED
    if left.ambiguous:  # whoever may have got it already is neither skipped nor rejected
        status = Status.UNKNOWN
    return Final(left, status, problem.reason, problem.detail, requested=False)


def judge(left: Left, outcome: Outcome, run: Run, now: datetime) -> Final | Retry | None:
    """None means that the recipient just stays waiting."""
    if outcome.verdict is Verdict.ACCEPTED:
        return Final(left, Status.ACCEPTED, message_id=outcome.message_id)
    if outcome.verdict in REFUSED:
        return Final(left, Status.REJECTED, outcome.reason, outcome.detail)
    if outcome.verdict not in AGAIN:
        return None
    if _may_have_arrived(outcome) and run.on_unknown == Run.OnUnknown.HOLD:
        return Final(left, Status.UNKNOWN, outcome.reason, outcome.detail)
    return _again(left, outcome, run, now)


def _may_have_arrived(outcome: Outcome) -> bool:
    """Also a 503: Google's own maintainers say that the message may have been delivered."""
    return outcome.verdict is Verdict.UNANSWERED or outcome.reason == Reason.UNAVAILABLE


def _again(left: Left, outcome: Outcome, run: Run, now: datetime) -> Final | Retry:
    ambiguous = left.ambiguous or _may_have_arrived(outcome)
    first_tried_at = left.first_tried_at or now
    due = now + timedelta(seconds=_wait(left.tries, outcome) * random.uniform(1.0, 1.25))
    too_late = due > first_tried_at + GIVE_UP_AFTER
    if too_late or due > run.deadline or _is_hopeless(left, outcome):
        return _given_up(left, outcome, ambiguous, expired=not too_late and due > run.deadline)
    return Retry(
        seq=left.seq,
        tries=left.tries + 1,
        first_tried_at=first_tried_at,
        not_before=due,
        reason=outcome.reason,
        ambiguous=ambiguous,
    )


def _given_up(left: Left, outcome: Outcome, ambiguous: bool, *, expired: bool) -> Final:
    if ambiguous:
        return Final(left, Status.UNKNOWN, outcome.reason, outcome.detail)
    if expired:
        return Final(left, Status.SKIPPED, Reason.EXPIRED, f"last answer: {outcome.reason}")
    return Final(left, Status.REJECTED, outcome.reason, outcome.detail)


def _is_hopeless(left: Left, outcome: Outcome) -> bool:
    """An answer nobody understands is asked for once more, late, and then believed."""
    return outcome.reason == Reason.UNKNOWN_ANSWER and left.tries >= 1


def _wait(tries: int, outcome: Outcome) -> float:
    """Seconds until the next try: FCM's own word if it gave one, else doubling from 10 s.

    Its word too must grow with the tries: “Retry-After: 0” would be asked for without end.
    """
    if outcome.reason in (Reason.DEVICE_THROTTLED, Reason.UNKNOWN_ANSWER):
        seconds = max(A_MINUTE, outcome.retry_after or 0.0) * 2.0**tries
    elif outcome.retry_after is None:
        seconds = FIRST_WAIT * 2.0**tries
    else:
        seconds = max(outcome.retry_after, 2.0**tries)
    return min(seconds, LONGEST_WAIT)
