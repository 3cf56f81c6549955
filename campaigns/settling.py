"""Settling: who of a chunk has no outcome yet, and what each answer makes of a recipient.

A window settles in one transaction: the fence is checked, the deliveries are appended by COPY, the
retries and the chunk's sums are moved, and dead devices retired. All of it, or nothing.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Value
from django.utils import timezone

from campaigns.chunk import Claim, Fenced
from campaigns.ledger import Delivery, Retry, Window
from campaigns.reasons import Reason
from campaigns.rendering import Reader
from campaigns.run import Run
from notifications import device
from notifications.gateway import Outcome, Verdict

Status = Delivery.Status
TRIES = 6  # after 10, 20, 40, 80 and 160 s: five minutes, and the first not before 10 s
FIRST_WAIT = 10.0
PATIENCE_SECONDS = 15.0
LONGEST_WAIT = 600.0


@dataclass(frozen=True, slots=True)
class Left:
    """A recipient without an outcome, and what is known of earlier tries."""

    seq: int
    device_id: int
    reader: Reader
    tries: int
    ambiguous: bool
    gone: bool


@dataclass(frozen=True, slots=True)
class Final:
    """A delivery about to be written."""

    left: Left
    status: Delivery.Status
    reason: str = ""
    detail: str = ""
    message_id: str = ""


def skipped(left: Left, reason: Reason, detail: str) -> Final:
    # Whoever may have got it already is not “skipped”, whatever keeps us from trying again.
    status = Status.UNKNOWN if left.ambiguous else Status.SKIPPED
    return Final(left, status, reason, detail)


# --- Who is left ----------------------------------------------------------------------------------

LEFT_TO_SEND = """
SELECT r.seq, r.device_id, d.kind, d.address, d.platform, c.external_id, c.attributes, c.locale,
    c.timezone, COALESCE(t.tries, 0), COALESCE(t.ambiguous, FALSE) OR i.seq IS NOT NULL,
    -- An address that moved to another person since must not carry this person's text.
    d.id IS NULL OR d.retired_at IS NOT NULL OR d.contact_id <> r.contact_id OR c.id IS NULL
FROM campaigns_recipient r
LEFT JOIN campaigns_retry t ON t.run_id = r.run_id AND t.seq = r.seq
LEFT JOIN (
    SELECT DISTINCT unnest(seqs) AS seq FROM campaigns_window
    WHERE chunk_id = %(chunk)s AND attempt < %(fence)s AND settled_at IS NULL
) i ON i.seq = r.seq
LEFT JOIN notifications_device d ON d.id = r.device_id
LEFT JOIN notifications_contact c ON c.id = r.contact_id
WHERE r.run_id = %(run)s AND r.seq BETWEEN %(first)s AND %(last)s
    AND NOT EXISTS (SELECT 1 FROM campaigns_delivery x WHERE x.run_id = r.run_id AND x.seq = r.seq)
    AND (t.not_before IS NULL OR t.not_before <= now())
ORDER BY r.seq
"""


def left_to_send(claim: Claim) -> list[Left]:
    """Everybody of the chunk who may be tried now. Under `hold`, the ambiguous become unknown."""
    chunk = claim.chunk
    with connection.cursor() as cursor:
        cursor.execute(
            LEFT_TO_SEND,
            {
                "run": chunk.run_id,
                "chunk": chunk.pk,
                "fence": chunk.attempt,
                "first": chunk.first_seq,
                "last": chunk.last_seq,
            },
        )
        everybody = [_left(chunk.run_id, row) for row in cursor.fetchall()]
    if claim.run.on_unknown == Run.OnUnknown.RESEND:
        return everybody
    ambiguous = [left for left in everybody if left.ambiguous]
    if ambiguous:
        held = [Final(left, Status.UNKNOWN, Reason.INTERRUPTED) for left in ambiguous]
        settle(claim, None, {}, [], held)
    return [left for left in everybody if not left.ambiguous]


def _left(run_id: int, row: tuple[Any, ...]) -> Left:
    (seq, device_id, kind, address, platform, external_id, attributes, locale, zone,
     tries, ambiguous, gone) = row  # fmt: skip
    reader = Reader(
        reference=f"{run_id}:{seq}",
        external_id=external_id,
        # Not orjson: it refuses the huge numbers that PostgreSQL keeps.
        attributes=json.loads(attributes) if attributes else {},
        locale=locale or "",
        timezone=zone,
        kind=kind,
        address=address,
        platform=platform,
    )
    return Left(seq, device_id, reader, tries, ambiguous, gone)


# --- What an answer means -------------------------------------------------------------------------

REFUSED = {
    Verdict.DEAD_ADDRESS,
    Verdict.BAD_ADDRESS,
    Verdict.FOREIGN_ADDRESS,
    Verdict.BAD_MESSAGE,
}
RETIRES = {Verdict.DEAD_ADDRESS, Verdict.BAD_ADDRESS}
AGAIN = {Verdict.THROTTLED, Verdict.TRANSIENT, Verdict.UNANSWERED}


def judge(left: Left, outcome: Outcome, *, on_unknown: str, now: datetime) -> Final | Retry | None:
    """A final row, a retry with its due time, or None: the recipient just stays waiting."""
    if outcome.verdict is Verdict.ACCEPTED:
        return Final(left, Status.ACCEPTED, message_id=outcome.message_id)
    if outcome.verdict in REFUSED:
        return Final(left, Status.REJECTED, outcome.reason, outcome.detail)
    if outcome.verdict not in AGAIN:
        return None
    unanswered = outcome.verdict is Verdict.UNANSWERED
    if unanswered and on_unknown == Run.OnUnknown.HOLD:
        return Final(left, Status.UNKNOWN, outcome.reason, outcome.detail)
    ambiguous = left.ambiguous or unanswered
    if left.tries + 1 >= TRIES:
        status = Status.UNKNOWN if ambiguous else Status.REJECTED
        return Final(left, status, outcome.reason, outcome.detail)
    return Retry(
        seq=left.seq,
        tries=left.tries + 1,
        not_before=now + _wait(left.tries, outcome.retry_after),
        reason=outcome.reason,
        ambiguous=ambiguous,
    )


def _wait(tries: int, retry_after: float | None) -> timedelta:
    """FCM's own word when it gave one, else doubling from 10 s; with jitter, against marching.

    Its word too must grow with the tries: six answers of “Retry-After: 0” would be used up at once.
    """
    seconds = FIRST_WAIT * 2**tries if retry_after is None else max(retry_after, 2.0**tries)
    return timedelta(seconds=min(seconds, LONGEST_WAIT) * random.uniform(1.0, 1.25))


# --- Settling a window ----------------------------------------------------------------------------


def settle(
    claim: Claim,
    window: Window | None,
    readers: Mapping[str, Left],
    outcomes: list[Outcome],
    finals: Iterable[Final] = (),
) -> Counter[str]:
    """Write what became of a window. Raises Fenced, and writes nothing, when the chunk was lost.

    If the process dies before the commit, the window stays open and its recipients are ambiguous.
    """
    now = timezone.now()
    finals, retries = list(finals), []
    for outcome in outcomes:
        left = readers[outcome.reference]
        judged = judge(left, outcome, on_unknown=claim.run.on_unknown, now=now)
        if isinstance(judged, Final):
            finals.append(judged)
        elif judged is not None:
            retries.append(judged)
    _patiently(claim, finals, lambda: _write(claim, window, finals, retries, now))
    if window is not None:
        _retire(outcomes, readers, sent_at=window.opened_at, now=now)
    return Counter(final.status.value for final in finals)


def _write(
    claim: Claim, window: Window | None, finals: list[Final], retries: list[Retry], now: datetime
) -> None:
    with transaction.atomic():
        _add_up(claim, finals)
        _append(claim, finals, now)
        _reschedule(claim, finals, retries)
        if window is not None:
            Window.objects.filter(pk=window.pk).update(settled_at=now)


def _patiently(claim: Claim, finals: list[Final], write: Callable[[], None]) -> None:
    """Answers in hand are worth waiting for PostgreSQL: dropped, they would be sent for again.

    Not longer than a lease leaves: then somebody else holds the chunk, and the fence refuses us.
    """
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError):
            if time.monotonic() > give_up_at:
                raise
            connection.close()
            time.sleep(0.5)
            with suppress(OperationalError, InterfaceError):
                if _written(claim, finals):
                    return None  # the commit had taken; only its answer was lost


def _written(claim: Claim, finals: list[Final]) -> bool:
    seqs = [final.left.seq for final in finals]
    ours = Delivery.objects.filter(run_id=claim.run.pk, attempt=claim.chunk.attempt, seq__in=seqs)
    return ours.exists()


def _retire(
    outcomes: list[Outcome], readers: Mapping[str, Left], *, sent_at: datetime, now: datetime
) -> None:
    """After the deliveries are safe: a device held by somebody else must not cost them."""
    for reason in sorted({o.reason for o in outcomes if o.verdict in RETIRES}):
        dead = [o for o in outcomes if o.verdict in RETIRES and o.reason == reason]
        ids = [readers[outcome.reference].device_id for outcome in dead]
        device.retire(ids, reason=reason, sent_at=sent_at, now=now)


def _add_up(claim: Claim, finals: list[Final]) -> None:
    """First in the transaction: it checks the fence and locks the chunk until the commit."""
    by_status = Counter(final.status.value for final in finals)
    reasons = Counter(claim.chunk.reasons) + Counter(f.reason for f in finals if f.reason)
    sums: dict[str, Any] = {status: F(status) + count for status, count in by_status.items()}
    if finals:
        sums["lapses"] = Value(0)  # it is getting on: earlier deaths were not this chunk's fault
    if not claim.held.update(reasons=dict(reasons), **sums):
        raise Fenced
    claim.chunk.reasons = dict(reasons)


COPY = """
COPY campaigns_delivery
    (run_id, seq, device_id, status, reason, detail, message_id, attempt, resent, at) FROM STDIN
"""


def _append(claim: Claim, finals: list[Final], now: datetime) -> None:
    if not finals:
        return
    run_id, attempt = claim.run.pk, claim.chunk.attempt
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for final in finals:
            left = final.left
            detail = final.detail[:200].replace("\x00", "")
            copy.write_row(
                (run_id, left.seq, left.device_id, final.status.value, str(final.reason), detail,
                 final.message_id[:200], attempt, left.ambiguous, now)
            )  # fmt: skip


def _reschedule(claim: Claim, finals: list[Final], retries: list[Retry]) -> None:
    tried = [final.left.seq for final in finals if final.left.tries]
    if tried:
        Retry.objects.filter(run=claim.run, seq__in=tried).delete()
    for retry in retries:
        retry.run, retry.chunk = claim.run, claim.chunk
    Retry.objects.bulk_create(
        retries,
        update_conflicts=True,
        unique_fields=["run", "seq"],
        update_fields=["tries", "not_before", "reason", "ambiguous"],
    )
