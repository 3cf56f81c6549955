"""Rows: what a worker reads and writes in PostgreSQL while it sends a chunk.

Only two things go another way. Windows and the lease are in `Claim`, because nothing may start
without them. Settling retries by itself, because it must know whether an earlier try was committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from campaigns.runs import newer_devices
from campaigns.runs.claiming import Claim
from campaigns.runs.details import Detail
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import Cause, Reason
from campaigns.runs.run import Run
from campaigns.sending import (
    breakers,
    keyless,
    message_settings,
    platform_keys,
    recovery_probe,
    settling,
)
from campaigns.sending.in_flight import InFlight
from campaigns.sending.inbox import presence
from campaigns.sending.judge_answers import Judged, interrupted, may_be_sent_to
from campaigns.sending.message_settings import MessageSettings
from campaigns.sending.release_chunk import hand_back
from campaigns.sending.unsettled import UnsettledRecipient, left_to_send
from notifications.dispatch import gateway_of
from notifications.gateway import BadCredentials, Gateway, Outcome
from notifications.measures.by_project import label_of
from notifications.postgres.outage import retry_all_methods


@retry_all_methods
class WorkerDatabase:
    """The database operations of a worker, each tried again for a minute during an outage.

    So each is one or more whole transactions, and may run twice. A short outage of PostgreSQL must
    cost no task and no answer: a dropped answer would make us send its message again.
    """

    def __init__(self, granted: Claim) -> None:
        self._claim = granted
        self._run = granted.run

    # --- Before the first request ----------------------------------------------------------------

    def gateway(self) -> Gateway:
        return gateway_of(self._run.project)

    def measured_as(self) -> str:
        return label_of(self._run.project)

    def may_leave_to_others(self, error: BadCredentials) -> bool:
        return keyless.leave_to_others(self._run, error)

    def proven(self) -> bool:
        return breakers.proven(self._run)

    def people(self) -> list[UnsettledRecipient]:
        return choose_recipients(self._claim)

    def newer_devices(self, gone: list[int]) -> dict[int, int]:
        return newer_devices.find(self._run.pk, gone)

    def settings(self) -> Mapping[int | None, MessageSettings]:
        """The message settings of a campaign's run, by the recipient's group."""
        return message_settings.of_run(self._run)

    def is_too_dear(self, chosen: UnsettledRecipient) -> bool:
        return recovery_probe.is_last_request(chosen, self._run)

    # --- With answers in hand --------------------------------------------------------------------

    def judge_window(self, flight: InFlight, outcomes: list[Outcome]) -> breakers.Trip | None:
        return breakers.judge_window(self._claim, flight.by_reference, outcomes, flight.finals)

    def hold_back(self, refused: Counter[str]) -> set[str]:
        """Hold back the platforms whose key Firebase lacks, and return them. Messages do not wait
        for the key: each is refused by itself."""
        if self._run.kind == Run.Kind.MESSAGES:
            return set()
        held_platforms = {
            name for name in refused if platform_keys.is_missing(self._run, name, refused)
        }
        for platform in held_platforms:
            self._run.hold_back(platform)
        return held_platforms

    def retire_dead(self, window: Window, flight: InFlight, believed: list[Outcome]) -> None:
        if self._run.is_rehearsal and not self._run.rehearsal.retires:
            return
        settling.retire_dead(self._run, window, flight.by_reference, believed)

    def pause(self, cause: Cause, detail: Detail | str) -> None:
        """Pause the run for a person's decision. If it was paused already, that is enough."""
        with suppress(Run.InvalidMove):
            # Only in our epoch: a late answer must not pause a run that was fixed and resumed.
            run = Run.driven.get(pk=self._run.pk)
            run.pause(cause, detail, epoch=self._run.epoch)

    def block(self, cause: Cause, detail: Detail | str) -> bool:
        return self._run.block(cause, detail)

    def unblock(self) -> None:
        self._run.unblock()

    def part(self, opens_at: datetime | None) -> None:
        """Close the chunk, or let it wait for its next turn."""
        if not self._claim.close():
            hand_back(self._claim, opens_at=opens_at)


def choose_recipients(claim: Claim) -> list[UnsettledRecipient]:
    """The recipients to try now.

    If workers died over a recipient too often (once, under `hold`), the outcome is unknown. People
    in quiet hours, or whose local time is to come, wait until then.
    """
    everybody = left_to_send(claim)
    presence.look(everybody)
    judged = Judged([interrupted(left) for left in everybody if not may_be_sent_to(left)])
    awake = _people_awake([left for left in everybody if may_be_sent_to(left)], claim.now(), judged)
    if judged.finals or judged.retries:
        settling.settle(claim, None, judged)
    return awake


def _people_awake(
    people: list[UnsettledRecipient], now: datetime, judged: Judged
) -> list[UnsettledRecipient]:
    """The recipients whose phones may ring now.

    For the others no window is opened and no quota is spent. Recipients who get nothing anyway, or
    for whom it is too late, stay in: they are skipped as usual.
    """
    awake = []
    for left in people:
        # A person who reached a cap may still get it when their quiet hours end.
        gets_it = left.out in ("", Reason.CAPPED) and left.seconds_left(now)
        if gets_it and (waits := left.waits_until(now)):
            judged.let_wait(left, *waits)
        else:
            awake.append(left)
    return awake
