"""What F34–F46 must notice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.chaos.bug import bug, patch


@bug("each its own token", fault="F34")
def _each_its_own() -> None:
    """Processes do not share tokens: each asks for its own, and again for each refused request."""
    from notifications.keys.tokens import AccessTokens

    patch(AccessTokens, "_renew_with_the_others", AccessTokens._renew_alone)


@bug("deaf to Retry-After", fault="F37 F37n")
def _deaf_to_retry_after() -> None:
    """Whatever FCM says, the next request leaves at once."""
    from notifications.fcm import verdicts
    from notifications.pacing.fcm_signals import AnswerCounts

    patch(verdicts, "retry_after", lambda *args, **more: 0.0)
    patch(AnswerCounts, "closes_for", property(lambda heard: 0.0))


@bug("tries again at once", fault="F38")
def _at_once() -> None:
    """Without waiting, so that an FCM in trouble gets more of the same."""
    from campaigns.sending import judge_answers

    patch(judge_answers, "_wait", lambda tries, outcome: timedelta(seconds=0.1))


@bug("an answer is an answer", fault="F39 F42")
def _an_answer() -> None:
    """What was never answered, or called unavailable, is tried again without a mark."""
    from dataclasses import replace

    from campaigns.runs.ledger import Retry
    from campaigns.sending import judge_answers

    again = judge_answers._again

    def again_unmarked(left: Any, *rest: Any) -> Any:
        verdict = again(left, *rest)
        if isinstance(verdict, Retry):
            verdict.ambiguous, verdict.copies = False, 0
            return verdict
        return replace(verdict, left=replace(verdict.left, copies=0))

    patch(judge_answers, "_again", again_unmarked)


@bug("sends again whatever was asked for", fault="F42h")
def _sends_again() -> None:
    """Who is never to be sent to twice is treated like everybody."""
    from campaigns.runs import claiming
    from campaigns.sending import sending

    claim = claiming.claim

    def claim_for_resending(*args: Any, **more: Any) -> Any:
        granted = claim(*args, **more)
        if granted:
            granted.run.on_unknown = "resend"
        return granted

    patch(sending, "claim", claim_for_resending)


@bug("only a 503 may have arrived", fault="F66 F66h")
def _only_a_503() -> None:
    """Every other failure is taken for proof that nothing arrived."""
    from notifications.fcm import verdicts
    from notifications.gateway import Arrived

    rows = [(*row[:3], row[3] if row[2] == "unavailable" else Arrived.NO) for row in verdicts.TABLE]
    patch(verdicts, "TABLE", rows)


@bug("never enough", fault="F66")
def _never_enough() -> None:
    """However many requests may have arrived, there is another one."""
    from campaigns.sending import judge_answers

    patch(judge_answers, "MAX_COPIES", 100)
    patch(judge_answers, "MAX_BROKEN", 100)


@bug("no token, no chance", fault="F46")
def _no_chance() -> None:
    """A token endpoint that does not answer is held against the recipient."""
    from campaigns.sending import judge_answers

    patch(
        judge_answers, "_is_hopeless", lambda left, outcome, *more: outcome.reason == "unreachable"
    )


@bug("connects without end", fault="F40")
def _connects_without_end() -> None:
    """A request has a connection of its own, as many as there are messages."""
    from django.conf import settings

    settings.CONNECTIONS = 10_000
