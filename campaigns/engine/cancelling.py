"""Cancelling: give every recipient that a cancelled run or message has left an outcome row."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F, QuerySet

from campaigns.runs import final_outcomes, sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.final_outcomes import Ending
from campaigns.runs.lapsing import free_lapsed
from campaigns.runs.ledger import copies
from campaigns.runs.reasons import Reason
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.revisions.shares import key_of
from campaigns.runs.run import Run
from notifications.postgres import clock

CHUNKS_AT_ONCE = 50  # a run of millions is closed in steps, not under one long lock


def close_the_rest(run: Run, now: datetime) -> None:
    """Close the open recipients of a cancelled run: skipped if no request was sent, else unknown.

    Workers hand back leased chunks within two seconds; a later call closes these.
    """
    free_lapsed(run)
    for chunk in _lock_closable_chunks(run)[:CHUNKS_AT_ONCE]:
        close(run, chunk, now)
    if not run.chunks.exclude(state=Chunk.State.CLOSED).exists():
        unended = Run.driven.filter(pk=run.pk, finished_at__isnull=True)
        if unended.update(finished_at=clock.after(now), **sums.sums_of(run)):
            run.refresh_from_db()
            run.tell()


def has_more(run_id: int) -> bool:
    """Whether another step would close anything and no other process is doing it."""
    with transaction.atomic():
        cancelled = Run.driven.filter(pk=run_id, state=Run.State.CANCELLED, finished_at=None)
        run = cancelled.select_for_update(skip_locked=True, no_key=True).first()
        return run is not None and bool(_lock_closable_chunks(run)[:1])


def _lock_closable_chunks(run: Run) -> QuerySet[Chunk]:
    """The chunks to close, in order and locked. Rows locked elsewhere are left to a later call."""
    idle = run.chunks.exclude(state__in=(Chunk.State.CLOSED, Chunk.State.LEASED))
    return idle.select_for_update(skip_locked=True).order_by("number")


def may_have_it(run: Run) -> int:
    """Count recipients without an outcome whose request was sent. They become unknown unless the
    answer still arrives."""
    with connection.cursor() as cursor:
        cursor.execute(MAY_HAVE_IT, {"run": run.pk})
        count: int = cursor.fetchone()[0]
    return count


LEFT_BEHIND = f"""
SELECT unnest(seqs) AS seq, 1 AS copies FROM campaigns_window
WHERE chunk_id {{of}} AND settled_at IS NULL
UNION ALL
SELECT seq, {copies()} FROM campaigns_retry WHERE chunk_id {{of}} AND ambiguous
"""
# The text revision of each outcome. A request that was sent may have carried an older text, as its
# window says. The other requests would have carried the newest.
SAID = """
CASE WHEN %(revision)s = 1 OR i.seq IS NULL THEN %(revision)s ELSE (
    SELECT max(w.revision) FROM campaigns_window w
    WHERE w.chunk_id = %(chunk)s AND r.seq = ANY(w.seqs)
) END
"""
OPEN = "IN (SELECT id FROM campaigns_chunk WHERE run_id = %(run)s AND state <> 'closed')"
MAY_HAVE_IT = f"""
SELECT count(DISTINCT seq) FROM ({LEFT_BEHIND.format(of=OPEN)}) left_behind
WHERE NOT EXISTS (
    SELECT FROM campaigns_delivery d WHERE d.run_id = %(run)s AND d.seq = left_behind.seq
)
"""
CLOSE = f"""
WITH left_behind AS (
    {LEFT_BEHIND.format(of="= %(chunk)s")}
), interrupted AS (
    SELECT seq, sum(copies) AS copies FROM left_behind GROUP BY seq
), closed AS (
    INSERT INTO campaigns_delivery
        (run_id, seq, device_id, status, reason, detail, message_id, attempt, resent, at, revision)
    SELECT r.run_id, r.seq, r.device_id,
        CASE WHEN i.seq IS NULL THEN 'skipped' ELSE 'unknown' END,
        CASE WHEN i.seq IS NULL THEN %(skipped)s ELSE %(unknown)s END,
        '', '', %(attempt)s, COALESCE(i.copies > 1, FALSE), %(now)s, COALESCE({SAID}, 1)
    FROM campaigns_recipient r LEFT JOIN interrupted i USING (seq)
    WHERE r.run_id = %(run)s AND r.seq BETWEEN %(first)s AND %(last)s
        AND NOT EXISTS (
            SELECT 1 FROM campaigns_delivery d WHERE d.run_id = r.run_id AND d.seq = r.seq
        ) {{these}}
    RETURNING seq, device_id, status, reason, revision, resent
), given_back AS (
    DELETE FROM campaigns_counted k USING closed, campaigns_recipient r
    WHERE closed.status = 'skipped' AND r.run_id = %(run)s AND r.seq = closed.seq
        AND k.contact_id = r.contact_id AND k.run_id = r.run_id AND k.seq = r.seq
), forgotten AS (
    DELETE FROM campaigns_retry t USING closed WHERE t.run_id = %(run)s AND t.seq = closed.seq
)
"""
EVERYBODY = CLOSE.format(these="")
# The recipients of one call that no request can have reached. If a worker holds the chunk, only
# those whose next try is far off: no worker reads them before this transaction commits.
OF_CALL = CLOSE.format(
    these="""
        AND i.seq IS NULL AND EXISTS (
            SELECT FROM campaigns_message m
            WHERE m.run_id = %(run)s AND m.number = r.message
                AND (m.number = %(call)s OR m.shares = %(call)s)
        ) AND (%(idle)s OR EXISTS (
            SELECT FROM campaigns_retry t WHERE t.run_id = %(run)s AND t.seq = r.seq
                AND t.not_before > clock_timestamp() + %(far_off)s
        ))"""
)
FAR_OFF = timedelta(minutes=10)  # longer than any transaction, as in `caps/counted_pushes.py`
SUMS = "SELECT status, revision, count(*) FROM closed GROUP BY 1, 2"
# Listeners get each message to a single person (see `final_outcomes.py`), but no recipients of
# campaigns: there may be millions.
EACH = """
SELECT r.message, c.external_id, closed.status, closed.reason, d.address, r.platform, closed.resent
FROM closed JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = closed.seq
LEFT JOIN notifications_contact c ON c.id = r.contact_id
LEFT JOIN notifications_device d ON d.id = closed.device_id
ORDER BY closed.seq
"""


def close(run: Run, chunk: Chunk, now: datetime) -> None:
    """Write an outcome for every recipient of the chunk that has none, and close the chunk."""
    reasons = {"skipped": Reason.CANCELLED, "unknown": Reason.CUT_SHORT}
    counts = _write_endings(EVERYBODY + SUMS, run, chunk, now, reasons)
    _add_up(chunk, reasons, counts)


def give_up(run: Run, chunk: Chunk, now: datetime) -> None:
    """Close messages that crashed too many workers, in one SQL statement: reading them in Python
    may be what crashes."""
    reasons = {"skipped": Reason.CRASHED_WORKERS, "unknown": Reason.INTERRUPTED}
    ended = [Ending(*row) for row in _write_endings(EVERYBODY + EACH, run, chunk, now, reasons)]
    _add_up(chunk, reasons, [(ending.status, FIRST, 1) for ending in ended])
    final_outcomes.tell(run, ended, now)


def close_call(run: Run, chunk: Chunk, call: int, now: datetime) -> list[Ending]:
    """Close the recipients of this API call that were not sent to.

    The caller has locked the chunk's row: until the commit no worker claims the chunk or opens a
    window.
    """
    reasons = {"skipped": Reason.CANCELLED, "unknown": Reason.CUT_SHORT}
    idle = chunk.state != Chunk.State.LEASED
    of_call = {"call": call, "idle": idle, "far_off": FAR_OFF}
    ended = [
        Ending(*row) for row in _write_endings(OF_CALL + EACH, run, chunk, now, reasons, **of_call)
    ]
    if ended:
        is_done = idle and chunk.waiting == len(ended)
        _add_up(chunk, reasons, [("skipped", FIRST, len(ended))], closes=is_done)
        final_outcomes.tell(run, ended, now)
    return ended


def _write_endings(
    statement: str, run: Run, chunk: Chunk, now: datetime, reasons: dict[str, Reason], **more: Any
) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {"chunk": chunk.pk, "run": run.pk, "attempt": chunk.attempt}
    values |= {"first": chunk.first_seq, "last": chunk.last_seq, "now": now}
    values |= {"revision": run.revision, **{name: str(reason) for name, reason in reasons.items()}}
    values |= more
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        written: list[tuple[Any, ...]] = cursor.fetchall()
    return written


def _add_up(
    chunk: Chunk, reasons: dict[str, Reason], counts: list[tuple[Any, ...]], *, closes: bool = True
) -> None:
    closed, revisions = Counter[str](), Counter[str](chunk.revisions)
    for status, revision, count in counts:
        closed[status] += count
        if revision > FIRST:
            revisions[key_of(revision, status)] += count
    skipped, unknown = closed["skipped"], closed["unknown"]
    for reason, count in ((reasons["skipped"], skipped), (reasons["unknown"], unknown)):
        if count:
            chunk.reasons[reason.value] = chunk.reasons.get(reason, 0) + count
    closed_too: dict[str, Any] = {"state": Chunk.State.CLOSED, "not_before": None}
    Chunk.objects.filter(pk=chunk.pk).update(
        **(closed_too if closes else {}),
        skipped=F("skipped") + skipped,
        unknown=F("unknown") + unknown,
        reasons=chunk.reasons,
        revisions=dict(revisions),
    )
