"""What F26–F33 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("no patience with PostgreSQL", fault="F26")
def _no_patience() -> None:
    """Answers in hand are thrown away when they cannot be written at once, and nobody is told."""
    from django.db import Error, connection

    from campaigns.sending import settling

    def give_up(write: Any) -> None:
        try:
            write()
        except Error:
            connection.close()

    patch(settling, "retry_during_outage", give_up)


@bug("a lease is over at the first look", fault="F27l")
def _at_the_first_look() -> None:
    """Whoever could not prolong it, because nobody could write, is taken for dead."""
    from django.db.models.functions import Now

    from campaigns.runs import chunk, lapsing

    def doubt_at_once(run: Any) -> None:
        leased = run.chunks.filter(state="leased", lease_until__lt=Now())
        leased.update(doubted_at=Now() - 2 * chunk.HEARD_WITHIN)

    patch(lapsing, "_doubt", doubt_at_once)


@bug("sends what cannot be recorded", fault="F27 F28 F29 F32")
def _sends_what_cannot_be_recorded() -> None:
    """Requests leave, whether or not window, lease and outcome can be written."""
    from django.db import Error, connection

    from campaigns.runs.claiming import Claim, Opened
    from notifications.gateway import Permit

    open_window, renew = Claim.open_window, Claim.renew

    def open_anyway(claim: Claim, seqs: list[int], now: Any) -> Opened | None:
        try:
            return open_window(claim, seqs, now)
        except Error:
            connection.close()
            return Opened(1, frozenset(seqs), {})

    def renew_anyway(claim: Claim) -> bool:
        try:
            return renew(claim)
        except Error:
            connection.close()
            return True

    _no_patience()
    patch(Claim, "open_window", open_anyway)
    patch(Claim, "renew", renew_anyway)
    patch(Permit, "valid", property(lambda permit: True))


@bug("trouble of the database is a crash", fault="F31")
def _a_crash() -> None:
    """The API knows no other word for it than 500."""
    from notifications.api.base import problems

    patch(problems, "DATABASE_TROUBLE", ())


@bug("one try and it is broken", fault="F30")
def _one_try() -> None:
    """A step that PostgreSQL refused once makes the run stop for a person."""
    from campaigns import tasks
    from notifications.postgres import outage

    patch(outage, "COLLISIONS", ())
    patch(tasks, "DATABASE_TROUBLE", ())


@bug("waits for whoever holds the row", fault="F33")
def _waits_for_the_row() -> None:
    """As long as it takes, though others could be sent to meanwhile."""
    from campaigns.runs import claiming

    def take(queued: Any) -> bool:
        return bool(list(queued.select_for_update(no_key=True)))

    patch(claiming, "_take", take)


@bug("locks every chunk after the run", fault="F29d")
def _locks_every_chunk() -> None:
    """And who loses a deadlock makes the run stop for a person."""
    from campaigns.engine import engine
    from campaigns.runs import lapsing

    _one_try()
    free = lapsing.free_lapsed

    def lock_and_free(run: Any) -> int:
        list(run.chunks.select_for_update().order_by("number"))
        return free(run)

    patch(engine, "free_lapsed", lock_and_free)
