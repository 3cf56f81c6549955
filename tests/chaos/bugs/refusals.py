"""What F35, F36, F41, F43–F45, F47 and F67 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("never stops to ask", fault="F35 F36 F47")
def _never_stops() -> None:
    """FCM is believed whatever it says, and however often."""
    from campaigns.sending import breakers

    patch(breakers, "judge_window", lambda *answers: None)
    patch(breakers, "look_back", lambda run: None)


@bug("knocks on and on", fault="F67")
def _knocks() -> None:
    """What fails is told to the gate as an answer, and everybody goes on trying."""
    from campaigns.sending import in_flight

    patch(in_flight, "FAILING", set())


@bug("the dead are tried again", fault="F36")
def _tried_again() -> None:
    from campaigns.sending import judge_answers
    from notifications.gateway import Verdict

    patch(judge_answers, "REFUSED", judge_answers.REFUSED - {Verdict.DEAD_ADDRESS})
    patch(judge_answers, "AGAIN", judge_answers.AGAIN | {Verdict.DEAD_ADDRESS})


@bug("every 400 is the address's fault", fault="F47")
def _the_address() -> None:
    from notifications.fcm import verdicts
    from notifications.gateway import Verdict

    row = (lambda answer: answer.http == 400, Verdict.BAD_ADDRESS, "malformed_address")
    patch(verdicts, "TABLE", [row, *verdicts.TABLE])


@bug("every 400 is the text's fault", fault="F47t")
def _the_text() -> None:
    from notifications.fcm import verdicts
    from notifications.gateway import Verdict

    row = (lambda answer: answer.http == 400, Verdict.BAD_MESSAGE, "refused_message")
    patch(verdicts, "TABLE", [row, *verdicts.TABLE])


@bug("keeps every answer", fault="F41")
def _keeps_every_answer() -> None:
    """A worker's memory grows with what it has sent."""
    from notifications.fcm import fcm

    accepted = fcm._accepted
    kept: list[bytes] = []

    def accept_and_keep(message: Any, response: Any) -> Any:
        kept.append(response.body + bytes(range(256)) * 256)
        return accepted(message, response)

    patch(fcm, "_accepted", accept_and_keep)


@bug("a 200 needs its name", fault="F43")
def _needs_its_name() -> None:
    """An acceptance that cannot be read is none."""
    from notifications.fcm import fcm
    from notifications.gateway import Arrived, Outcome, Verdict

    accepted = fcm._accepted

    def accept_the_named(message: Any, response: Any) -> Outcome:
        outcome = accepted(message, response)
        if outcome.message_id:
            return outcome
        return Outcome(
            reference=message.reference,
            verdict=Verdict.TRANSIENT,
            arrived=Arrived.NO,
            reason="server_error",
        )

    patch(fcm, "_accepted", accept_the_named)


@bug("any certificate will do", fault="F44")
def _any_certificate() -> None:
    import ssl

    patch(ssl, "create_default_context", lambda **more: ssl._create_unverified_context())


@bug("every failure is in doubt", fault="F44 F45")
def _in_doubt() -> None:
    """As if a request had left before there was a connection for it."""
    from notifications.fcm import verdicts

    patch(verdicts, "NEVER_LEFT", verdicts.NO_ANSWER)
