"""What F100 and F100m must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("a window opens without counting whom it rings", fault="F100")
def _not_counted() -> None:
    from campaigns.runs import claiming

    patch(claiming, "prolong_and_count", lambda _caps, _kept: claiming.PROLONG)


@bug("slow windows", fault="")
def _slow_windows() -> None:
    """Whoever opens one took its people some time ago."""
    import time
    from typing import Any

    from campaigns.sending.sending import Sending

    open_window = Sending._open

    def slowly(sending: Sending, people: Any) -> None:
        time.sleep(1.2)
        open_window(sending, people)

    patch(Sending, "_open", slowly)


@bug("messages leave places to campaigns", fault="F100m")
def _messages_leave_places() -> None:
    from django.db import connection

    from campaigns.runs.caps import reserved_places
    from campaigns.runs.run import Run

    def kept_above(run: Run) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(*reserved_places._kept_above(run.project_id, run.precedence))
            return [pk for (pk,) in cursor.fetchall()]

    patch(reserved_places, "kept_above", kept_above)
