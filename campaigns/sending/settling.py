"""Settling: writes the outcomes of a window.

One transaction checks the fence, appends the deliveries by COPY, updates the retries and the
chunk's sums, and keeps the answers that accepted nothing, if any. All of it or nothing is written;
dead devices are retired right after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from psycopg.types.json import Jsonb

from campaigns.runs import final_outcomes
from campaigns.runs.caps import counted_pushes, reserved_places
from campaigns.runs.claiming import Claim, Fenced
from campaigns.runs.ledger import MAX_ANSWERS, Delivery, Retry, Window
from campaigns.runs.reasons import DEAD
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.revisions.shares import key_of
from campaigns.runs.run import Run
from campaigns.sending.inbox import run_items
from campaigns.sending.judge_answers import Final, Judged
from campaigns.sending.unsettled import UnsettledRecipient
from notifications.gateway import Arrived, Outcome
from notifications.people import device
from notifications.postgres.outage import retry_during_outage


def settle(claim: Claim, window: Window | None, judged: Judged) -> Counter[str]:
    """Write the outcomes of a window; return how many, by status.

    Raises Fenced, and writes nothing, if the chunk was lost.

    If the process dies before the commit: the window stays open and its recipients are ambiguous.
    """
    write = partial(_write_outcomes, claim, window, judged, claim.now())
    retry_during_outage(_write_once(claim, window, judged.finals, write))
    # What this worker saw, for the breakers. It is outside the write: a repeated write must not
    # count it twice.
    claim.chunk.reasons = dict(_count_reasons(judged.finals) + Counter(claim.chunk.reasons))
    by_status = Counter(final.status.value for final in judged.finals)
    claim.chunk.accepted += by_status[Delivery.Status.ACCEPTED]
    claim.chunk.rejected += by_status[Delivery.Status.REJECTED]
    return by_status


def _write_outcomes(claim: Claim, window: Window | None, judged: Judged, now: datetime) -> None:
    with transaction.atomic():
        _set_earlier_revisions(claim, judged.finals)
        moment = _add_up(claim, window, judged, now)
        _append_deliveries(claim, judged.finals, moment)
        _store_retries(claim, judged)
        if claim.caps:
            _give_back_caps(claim, judged.finals)
        if not claim.run.is_rehearsal:  # else a person's history would show them
            _keep_answers(claim, judged.unaccepted, moment)
        if claim.run.inbox:
            run_items.keep(claim, judged.people)
        final_outcomes.tell(claim.run, judged.finals, moment)


def _write_once(
    claim: Claim, window: Window | None, finals: list[Final], write: Callable[[], None]
) -> Callable[[], None]:
    """A write that may be tried again, and takes effect once.

    Answers are worth waiting for PostgreSQL: if they are dropped, the messages are sent again. Each
    new try renews the lease, if possible: with a full disk, PostgreSQL may take no deliveries, and
    still let other workers take the chunk. If one did, the fence refuses us.
    """
    tried = False

    def write_if_new() -> None:
        nonlocal tried
        if tried and _is_written(claim, window, finals):
            return  # the commit succeeded; only its answer was lost
        if tried:
            claim.renew()
        tried = True
        write()

    return write_if_new


def _is_written(claim: Claim, window: Window | None, finals: list[Final]) -> bool:
    if window:
        return Window.objects.filter(pk=window.pk, settled_at__isnull=False).exists()
    seqs = [final.left.seq for final in finals]
    deliveries = Delivery.objects.filter(
        run_id=claim.run.pk, attempt=claim.chunk.attempt, seq__in=seqs
    )
    return deliveries.exists()


def retire_dead(
    run: Run,
    window: Window,
    by_reference: Mapping[str, UnsettledRecipient],
    outcomes: list[Outcome],
) -> None:
    """Retire devices that FCM calls dead. It runs after the deliveries are committed: a locked
    device row must not cost them."""
    for reason in DEAD:
        ids = [by_reference[o.reference].device_id for o in outcomes if o.reason == reason]
        sent_at, now = window.opened_at, timezone.now()
        if ids:
            device.retire(ids, reason=reason, by=run.reference, sent_at=sent_at, now=now)


# Read from the windows: each worker, of any release, wrote the revision that it sent there.
LEFT_BEFORE = """
SELECT one.seq, max(w.revision) FROM unnest(%(seqs)s::int[]) AS one (seq)
JOIN campaigns_window w ON w.chunk_id = %(chunk)s AND one.seq = ANY(w.seqs)
GROUP BY one.seq
"""


def _set_earlier_revisions(claim: Claim, finals: list[Final]) -> None:
    """Set the revision of recipients who get nothing now but may have got an earlier request: that
    one may have had an older text."""
    if claim.run.revision == FIRST:
        return
    doubtful = {
        final.left.seq: final for final in finals if final.left.copies and not final.requested
    }
    if doubtful:
        with connection.cursor() as cursor:
            cursor.execute(LEFT_BEFORE, {"chunk": claim.chunk.pk, "seqs": [*doubtful]})
            for seq, revision in cursor.fetchall():
                doubtful[seq].left_before = revision


def _added_sql(sums: str) -> str:
    """SQL that adds new counts to the column's counts, which a person's decision may have changed
    meanwhile."""
    return f"""CASE WHEN %({sums})s = '{{}}'::jsonb THEN {sums} ELSE (
            SELECT jsonb_object_agg(name, times) FROM (
                SELECT name, sum(count::int) AS times FROM (
                    SELECT * FROM jsonb_each_text({sums})
                    UNION ALL SELECT * FROM jsonb_each_text(%({sums})s)
                ) AS each (name, count) GROUP BY name
            ) AS sums
        ) END"""


ADD_UP = f"""
WITH added AS (
    UPDATE campaigns_chunk SET
        accepted = accepted + %(accepted)s, rejected = rejected + %(rejected)s,
        skipped = skipped + %(skipped)s, unknown = unknown + %(unknown)s,
        copies = copies + %(copies)s,
        reasons = {_added_sql("reasons")},
        revisions = {_added_sql("revisions")},
        -- It is getting on: earlier deaths were not this chunk's fault.
        lapses = CASE WHEN %(finals)s > 0 THEN 0 ELSE lapses END
    WHERE id = %(chunk)s AND attempt = %(fence)s AND state = 'leased'
    RETURNING id
), settled AS (
    UPDATE campaigns_window
    SET settled_at = greatest(opened_at, least(%(now)s, statement_timestamp()))
    WHERE id = %(window)s AND EXISTS (SELECT FROM added)
)
SELECT count(*), least(%(now)s, statement_timestamp()) FROM added
"""


def _add_up(claim: Claim, window: Window | None, judged: Judged, now: datetime) -> datetime:
    """Add outcomes to the chunk's sums; return the moment of the outcomes. Raises Fenced.

    It comes first in the transaction: it checks the fence and locks the chunk until the commit. The
    moment is PostgreSQL's if our own clock is ahead of it.
    """
    by_status = Counter(final.status.value for final in judged.finals)
    values: dict[str, Any] = {status: by_status[status] for status in Delivery.Status.values}
    values |= {"chunk": claim.chunk.pk, "fence": claim.chunk.attempt, "copies": judged.copies}
    values |= {"finals": len(judged.finals), "window": window and window.pk, "now": now}
    values["reasons"] = Jsonb(_count_reasons(judged.finals))
    values["revisions"] = Jsonb(_count_revisions(claim, judged.finals))
    with connection.cursor() as cursor:
        cursor.execute(ADD_UP, values)
        is_held, moment = cursor.fetchone()
    if not is_held:
        raise Fenced
    return moment  # type: ignore[no-any-return]


def _count_reasons(finals: list[Final]) -> Counter[str]:
    return Counter(str(final.reason) for final in finals if final.reason)


def _count_revisions(claim: Claim, finals: list[Final]) -> Counter[str]:
    """Count outcomes by revision and status, without the first one: see `revisions/shares.py`."""
    if claim.run.revision == FIRST:
        return Counter()
    later = (final for final in finals if final.revision > FIRST)
    return Counter(key_of(final.revision, final.status.value) for final in later)


COPY = """
COPY campaigns_delivery
    (run_id, seq, device_id, status, reason, detail, message_id, attempt, resent, at, revision)
FROM STDIN
"""


def _append_deliveries(claim: Claim, finals: list[Final], now: datetime) -> None:
    if not finals:
        return
    run_id, attempt, moment = claim.run.pk, claim.chunk.attempt, now.isoformat()
    # COPY is psycopg's own: without the wrapper, its errors are not Django's, and would not be
    # retried.
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(COPY) as copy,
    ):
        copy.write("".join(_copy_line(final, run_id, attempt, moment) for final in finals))


def _copy_line(final: Final, run_id: int, attempt: int, moment: str) -> str:
    """A row in COPY's text format: passing the values through psycopg took three times as long."""
    left, resent = final.left, "t" if final.resent else "f"
    status, reason = final.status.value, final.reason or ""
    detail, name = _escape_text(final.detail), _escape_text(final.message_id)
    return (
        f"{run_id}\t{left.seq}\t{left.device_id}\t{status}\t{reason}\t{detail}\t{name}"
        f"\t{attempt}\t{resent}\t{moment}\t{final.revision}\n"
    )


# Characters that end a value or a row in COPY's text format, or begin an escape.
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _escape_text(text: str) -> str:
    return _clean_text(text).translate(ESCAPES) if text else ""


def _clean_text(text: str) -> str:
    """Shorten a text of FCM and remove NUL characters, which PostgreSQL cannot store."""
    return text[:200].replace("\x00", "")


def _store_retries(claim: Claim, judged: Judged) -> None:
    tried = [final.left.seq for final in judged.finals if final.left.first_tried_at]
    if tried:
        Retry.objects.filter(run=claim.run, seq__in=tried).delete()
    for retry in judged.retries:
        retry.run, retry.chunk = claim.run, claim.chunk
    Retry.objects.bulk_create(
        judged.retries,
        update_conflicts=True,
        unique_fields=["run", "seq"],
        update_fields=["tries", "not_before", "reason", "ambiguous", "copies"],
    )


SURELY_NOT = (Delivery.Status.REJECTED, Delivery.Status.SKIPPED)


def _give_back_caps(claim: Claim, finals: list[Final]) -> None:
    """Remove recipients whose phones surely did not ring from the counts of frequency caps."""
    silent = [final.left for final in finals if final.status in SURELY_NOT]
    counted_pushes.give_back(claim.run.pk, [(left.contact_id, left.seq) for left in silent])
    if claim.run.precedence != Run.Precedence.LOW:
        reserved_places.give_back(claim.run.pk, [left.contact_id for left in silent])


# A recipient gets at most one answer for each claim, so the first claims need not count. It skips
# people who were erased meanwhile: FCM's answers about them are their personal data.
KEEP_ANSWERS = """
INSERT INTO campaigns_answer (run_id, seq, attempt, contact_id, at, http, code, verdict, reason,
    may_have_arrived, detail)
SELECT %(run)s, seq, %(attempt)s, contact_id, %(at)s, http, code, verdict, reason,
    may_have_arrived, detail
FROM unnest(%(seqs)s::int[], %(contacts)s::bigint[], %(http)s::smallint[], %(codes)s::text[],
    %(verdicts)s::text[], %(reasons)s::text[], %(arrived)s::boolean[], %(details)s::text[])
    AS said (seq, contact_id, http, code, verdict, reason, may_have_arrived, detail)
WHERE EXISTS (SELECT FROM notifications_contact c WHERE c.id = said.contact_id)
AND (%(attempt)s <= %(most)s OR %(most)s > (
    SELECT count(*) FROM campaigns_answer kept
    WHERE kept.run_id = %(run)s AND kept.seq = said.seq
))
"""


def _keep_answers(
    claim: Claim, answers: list[tuple[UnsettledRecipient, Outcome]], now: datetime
) -> None:
    """Keep answers that accepted nothing. Mostly FCM accepts everything: then no statement runs."""
    if not answers:
        return
    outcomes = [outcome for _, outcome in answers]
    values: dict[str, Any] = {
        "run": claim.run.pk,
        "attempt": claim.chunk.attempt,
        "at": now,
        "most": MAX_ANSWERS,
        "seqs": [left.seq for left, _ in answers],
        "contacts": [left.contact_id for left, _ in answers],
        "http": [outcome.http for outcome in outcomes],
        "codes": [_clean_text(outcome.code)[:50] for outcome in outcomes],
        "verdicts": [outcome.verdict.value for outcome in outcomes],
        "reasons": [outcome.reason for outcome in outcomes],
        "arrived": [outcome.arrived is not Arrived.NO for outcome in outcomes],
        "details": [_clean_text(outcome.detail) for outcome in outcomes],
    }
    with connection.cursor() as cursor:
        cursor.execute(KEEP_ANSWERS, values)
