"""What F1–F11 and F8m must notice."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from tests.chaos.bug import bug, patch

if TYPE_CHECKING:
    from campaigns.sending.unsettled import UnsettledRecipient

POISONED = 2


@bug("poison chunk", fault="")
def _poison_chunk() -> None:
    """The second chunk kills whoever works on it."""
    from campaigns.sending.sending import Sending

    work = Sending.work

    def die_of_it(sending: Sending) -> dict[str, int]:
        if sending.claim.chunk.number == POISONED:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(sending)

    patch(Sending, "work", die_of_it)


@bug("poison message", fault="")
def _poison_message() -> None:
    """It kills whoever renders it."""
    from campaigns.sending.sending import Sending

    pushes = Sending._pushes

    def die_of_it(sending: Sending, people: list[UnsettledRecipient], *more: Any) -> Any:
        if any(left.settings.content["body"] == "Number 7" for left in people):
            os.kill(os.getpid(), signal.SIGKILL)
        return pushes(sending, people, *more)

    patch(Sending, "_pushes", die_of_it)


@bug("no chunk is cut where a worker died", fault="F8m")
def _never_cut() -> None:
    """What kills takes all of its chunk with it."""
    from campaigns.runs import lapsing

    patch(lapsing, "_units", lambda run, chunk: [])


@bug("trust Celery alone", fault="F1 F5a F14")
def _trust_celery_alone() -> None:
    """A task is acknowledged when it begins, and no sweep looks after what went missing."""
    from campaigns.engine import engine
    from config.celery import app

    for task in app.tasks.values():
        task.acks_late = task.reject_on_worker_lost = False
    app.conf.task_acks_late = app.conf.task_reject_on_worker_lost = False
    patch(engine, "sweep", lambda now: [])


@bug("the sweep rings only what is due", fault="F5s")
def _ring_only_what_is_due() -> None:
    """What an earlier sweep has started, and did not live to ring, nobody rings."""
    from campaigns.engine import engine
    from campaigns.planning import schedule

    patch(engine, "sweep", schedule.start_due)


@bug("snapshot in two transactions", fault="F5p")
def _two_transactions() -> None:
    """The chunks are committed before the run is moved."""
    from django.db import connection

    from campaigns import failpoints
    from campaigns.engine import freezing

    hit = failpoints.hit

    def commit_and_hit(name: str) -> None:
        if name == "prepare":
            connection.connection.commit()
        hit(name)

    patch(freezing, "hit", commit_and_hit)


@bug("leases never lapse", fault="F2 F6 F6l F6p F7 F26l F32n")
def _leases_never_lapse() -> None:
    """Whoever died keeps the chunk."""
    from campaigns.engine import engine

    patch(engine, "free_lapsed", lambda run: 0)


@bug("forget what was in flight", fault="F2w F3h F9 F26l")
def _forget_what_was_in_flight() -> None:
    """Whoever takes a chunk over tidies the windows away that a dead worker left open."""
    from django.utils import timezone

    from campaigns.runs import claiming
    from campaigns.runs.ledger import Window
    from campaigns.sending import sending

    claim = claiming.claim

    def claim_tidily(*args: Any, **more: Any) -> Any:
        if granted := claim(*args, **more):
            left_open = Window.objects.filter(chunk=granted.chunk, settled_at=None)
            left_open.update(settled_at=timezone.now())
        return granted

    patch(sending, "claim", claim_tidily)


@bug("no intent", fault="F3 F3n")
def _no_intent() -> None:
    """Requests leave, and no window says to whom."""
    from campaigns.runs.claiming import Claim, Opened

    def open_nowhere(claim: Claim, seqs: list[int], now: Any) -> Opened | None:
        return Opened(-1, frozenset(seqs), {}) if claim.renew() else None

    patch(Claim, "open_window", open_nowhere)


@bug("settle per chunk", fault="F4")
def _settle_per_chunk() -> None:
    """A window counts as settled at once, its rows are written when the chunk ends."""
    from collections import Counter

    from django.utils import timezone

    from campaigns.runs.claiming import Claim
    from campaigns.runs.ledger import Window
    from campaigns.sending import settling

    settle, close = settling.settle, Claim.close
    kept: list[Any] = []

    def settle_later(claim: Claim, window: Window | None, *rest: Any) -> Counter[str]:
        if window:
            Window.objects.filter(pk=window.pk).update(settled_at=timezone.now())
        kept.append((claim, window, *rest))
        return Counter()

    def settle_and_close(claim: Claim) -> bool:
        while kept:
            settle(*kept.pop(0))
        return close(claim)

    patch(settling, "settle", settle_later)
    patch(Claim, "close", settle_and_close)


@bug("leaves at once when asked to", fault="F10")
def _leaves_at_once() -> None:
    """SIGTERM ends the worker and its children in the middle of what they do."""
    from celery.signals import worker_shutting_down

    def die(**signal_: Any) -> None:
        os.killpg(0, signal.SIGKILL)

    worker_shutting_down.connect(die, weak=False)


@bug("a permit for ever", fault="F11")
def _a_permit_for_ever() -> None:
    """Whoever once might start requests goes on, however long it slept."""
    from notifications.gateway import Permit

    patch(Permit, "valid", property(lambda permit: True))


@bug("never quarantined", fault="F8")
def _never_quarantined() -> None:
    """A chunk may kill as many workers as it likes."""
    from campaigns.runs import lapsing

    patch(lapsing, "LAPSES_ALLOWED", 1_000_000)
