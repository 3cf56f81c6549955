"""What F95 and F97 must notice."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.chaos.bug import bug, patch


@bug("the rest is due with the first part", fault="F95")
def _due_with_the_first_part() -> None:
    from campaigns.engine import freezing

    patch(freezing, "HELD_UNTIL", datetime(2000, 1, 1, tzinfo=UTC))


@bug("a first part is not waited for", fault="F95")
def _is_not_waited_for() -> None:
    from campaigns.engine import first_part

    patch(first_part, "_is_over", lambda part, now: True)


@bug("the rest is let go in a transaction of its own", fault="F95")
def _let_go_apart() -> None:
    """Who dies in the judgement has let the rest go, and the part does not know."""
    from django.db import connection

    from campaigns import failpoints
    from campaigns.engine import first_part

    hit = failpoints.hit

    def commit_and_hit(name: str) -> None:
        connection.connection.commit()
        hit(name)

    patch(first_part, "hit", commit_and_hit)


@bug("the rest reads the main text, whatever was chosen", fault="F97")
def _reads_the_main_text() -> None:
    from campaigns.runs.variants import variant

    patch(variant, "read_by", lambda run, group: group if group in (0, 1) else 0)


@bug("the variant is chosen, and nobody waits for its commit", fault="F97")
def _chosen_apart() -> None:
    """Who dies in the judgement has chosen, and the rest does not go."""
    from django.db import connection

    from campaigns.engine import first_part

    choose = first_part._choose

    def choose_and_commit(*which: object) -> None:
        choose(*which)  # type: ignore[arg-type]
        connection.connection.commit()

    patch(first_part, "_choose", choose_and_commit)
