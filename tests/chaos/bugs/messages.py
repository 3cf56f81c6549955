"""What F73–F78 and F82 must notice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.db import connection

from tests.chaos.bug import bug, patch

NAP_SECONDS = 2


@bug("marks messages as taken before their recipients", fault="F73 F75 F77 F82")
def _marks_early() -> None:
    """Whoever dies in between leaves messages that everybody thinks were sent."""
    from campaigns.engine import messages
    from campaigns.runs.messages.taking import take
    from campaigns.runs.run import Run

    def mark_and_take(run: Run, *more: Any, **which: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE campaigns_message SET state = 'taken'"
                " WHERE run_id = %s AND state = 'waiting' RETURNING number",
                [run.pk],
            )
            if numbers := [number for (number,) in cursor.fetchall()]:
                time.sleep(NAP_SECONDS)
            cursor.execute(
                "UPDATE campaigns_message SET state = 'waiting'"
                " WHERE run_id = %s AND number = ANY(%s)",
                [run.pk, numbers],
            )
        return take(run, *more, **which)

    patch(messages, "take", mark_and_take)


@bug("no sweep looks after messages", fault="F74")
def _no_sweep() -> None:
    """Only the doorbell of the call says that there is something to send."""
    from campaigns.engine import messages

    patch(messages, "due_soon", list)


@bug("a key is taken over by whoever comes", fault="F76")
def _a_key_is_taken_over() -> None:
    """Each call with it makes a message of its own."""
    from campaigns.runs.messages import accepting, message

    made = (Path(message.__file__).parent / "accept_messages.sql").read_text()
    alive = "WHERE known.until <= statement_timestamp()"
    assert alive in made
    wrong = made.replace(alive, "").replace("FUNCTION accept_m", "FUNCTION wrongly_accept_m")
    with connection.cursor() as cursor:
        cursor.execute(wrong)
    connection.close()  # it is planted before the workers fork
    patch(accepting, "ACCEPT", accepting.ACCEPT.replace("accept_m", "wrongly_accept_m"))


@bug("messages are judged like a campaign's run", fault="F78")
def _judged_together() -> None:
    """So many refusals and nothing accepted: they are not believed, and all wait for a person."""
    from campaigns.runs.run import Run
    from campaigns.sending import breakers

    judge_window = breakers.judge_window

    def as_of_a_campaign(claim: Any, *answers: Any) -> Any:
        claim.run.kind = Run.Kind.CAMPAIGN
        try:
            return judge_window(claim, *answers)
        finally:
            claim.run.kind = Run.Kind.MESSAGES

    patch(breakers, "judge_window", as_of_a_campaign)
