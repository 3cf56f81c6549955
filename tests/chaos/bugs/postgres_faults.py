"""What F26–F33 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("no patience with PostgreSQL", fault="F26")
def _no_patience() -> None:
    """Answers in hand are thrown away when they cannot be written at once, and nobody is told."""
    from django.db import Error, connection

    from campaigns import settling

    def give_up(write: Any) -> None:
        try:
            write()
        except Error:
            connection.close()

    patch(settling, "patiently", give_up)


@bug("sends what cannot be recorded", fault="F27 F28 F29 F32")
def _sends_what_cannot_be_recorded() -> None:
    """Requests leave, whether or not window, lease and outcome can be written."""
    from django.db import Error, connection

    from campaigns.chunk import Claim
    from notifications.gateway import Permit

    open_window, renew = Claim.open_window, Claim.renew

    def open_anyway(claim: Claim, *args: Any) -> int | None:
        try:
            return open_window(claim, *args)
        except Error:
            connection.close()
            return 1

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
    from notifications.api import problems

    patch(problems, "DATABASE_TROUBLE", ())


@bug("one try and it is broken", fault="F30")
def _one_try() -> None:
    """A step that PostgreSQL refused once makes the run stop for a person."""
    from campaigns import tasks
    from notifications import outage

    patch(outage, "COLLISIONS", ())
    patch(tasks, "DATABASE_TROUBLE", ())
