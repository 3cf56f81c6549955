"""What a window's answers say of our pace, for the gate."""

from __future__ import annotations

from campaigns.runs.reasons import Reason
from notifications.gateway import Outcome, Verdict
from notifications.pace.heard import Heard

FAILING = {Verdict.TRANSIENT, Verdict.UNANSWERED}  # FCM, or the way to it, is in trouble


def heard_in(outcomes: list[Outcome]) -> Heard:
    """A device's own limit says nothing of it.

    Nor does an answer that nobody knows: it shows neither that FCM delivers nor that it fails.
    """
    outcomes = [outcome for outcome in outcomes if outcome.reason != Reason.UNKNOWN_ANSWER]
    pushed_back = [outcome for outcome in outcomes if outcome.reason == Reason.THROTTLED]
    failing = [outcome for outcome in outcomes if outcome.verdict in FAILING]
    # This process waits for Retry-After, but the shared gate has lost it, and is told again.
    shut_out = [outcome for outcome in outcomes if outcome.verdict is Verdict.UNSENT]
    return Heard(
        answered=len(outcomes) - len(pushed_back) - len(failing) - len(shut_out),
        pushed_back=len(pushed_back),
        failing=len(failing),
        retry_after=max((each.retry_after or 0.0 for each in pushed_back + shut_out), default=None),
        failing_for=max((each.retry_after or 0.0 for each in failing), default=0.0),
    )
