"""Lapsing: takes a chunk back from a worker that died or hangs; splits it after repeated deaths.

From the second death in a row on, the chunk is split in two. The half without the crashing message
is sent, so in the end that message is alone. Both halves keep the fence: the worker that held the
chunk can no longer write to either of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Max, Q
from django.db.models.functions import Now

from campaigns.runs.chunk import HEARD_WITHIN, LAST_HEARD, SILENT, TAKEN_OVER, Chunk, unlocked
from campaigns.runs.reasons import Reason
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.revisions.shares import key_of
from campaigns.runs.run import Run
from notifications.measures.by_project import label_of

LAPSES_ALLOWED = 5
# Deaths in a row. A single death is mostly chance. When every death split a chunk, unlucky chunks
# alone were enough to pause a run for a person's decision.
CUT_FROM = 2


def free_lapsed(run: Run) -> int:
    """Take chunks from workers that died or hang. Returns how many.

    Their requests in flight are ambiguous now. A chunk is doubted first and taken later: while
    PostgreSQL takes no writes, no worker can prolong its lease, and every lease seems over when
    PostgreSQL is back. A worker that lost its connection while writing may still lock its chunk's
    row: the other chunks must not wait for it.
    """
    _doubt(run)
    over = run.chunks.filter(state=Chunk.State.LEASED, lease_until__lt=Now())
    over = over.filter(doubted_at__gt=LAST_HEARD, doubted_at__lt=Now() - HEARD_WITHIN)
    lapsed = list(run.chunks.filter(pk__in=unlocked(over)).order_by("number"))
    for chunk in lapsed:
        _free_chunk(run, chunk)
    if lapsed and not run.is_rehearsal:
        label = label_of(run.project)
        transaction.on_commit(lambda: TAKEN_OVER.add(len(lapsed), label))
    return len(lapsed)


def _doubt(run: Run) -> None:
    """Note workers that are silent for longer than a living one ever is, well before their lease
    ends."""
    new = run.chunks.filter(SILENT).filter(Q(doubted_at=None) | Q(doubted_at__lte=LAST_HEARD))
    new.filter(pk__in=unlocked(new)).update(doubted_at=Now())


def _free_chunk(run: Run, chunk: Chunk) -> None:
    chunk.lapses += 1
    units = _units(run, chunk) if _may_be_split(run, chunk) else []
    cut = len(units) > 1 and not _is_one_text(run, chunk, units)
    chunk.state = Chunk.State.WAITING
    if not cut and chunk.lapses >= LAPSES_ALLOWED:
        chunk.state = Chunk.State.QUARANTINED
    values = {"state": chunk.state, "lapses": chunk.lapses, "lease_until": None}
    Chunk.objects.filter(pk=chunk.pk).update(**values)
    if cut:
        _split_chunk(run, chunk, after=units[len(units) // 2 - 1].last)


# --- Whether and where to split -------------------------------------------------------------------


class Unit(NamedTuple):
    """Recipients that are never split: all devices of a message, or one recipient of a campaign."""

    last: int  # the seq of its last recipient without an outcome
    call: int | None  # the number of the message whose text it has


UNITS = """
SELECT max(r.seq), min(COALESCE(m.shares, m.number))
FROM campaigns_recipient r
LEFT JOIN campaigns_message m ON m.run_id = r.run_id AND m.number = r.message
WHERE r.run_id = %(run)s AND r.seq BETWEEN %(first)s AND %(last)s AND NOT EXISTS (
    SELECT FROM campaigns_delivery d WHERE d.run_id = r.run_id AND d.seq = r.seq)
GROUP BY COALESCE(r.message, r.seq) ORDER BY 1
"""
# Messages of one text that were given up. It reads only the few chunks that have any: a day's
# deliveries may be millions.
GIVEN_UP = f"""
SELECT count(DISTINCT m.number) FROM campaigns_chunk k
JOIN campaigns_recipient r ON r.run_id = k.run_id AND r.seq BETWEEN k.first_seq AND k.last_seq
JOIN campaigns_delivery d ON d.run_id = r.run_id AND d.seq = r.seq
JOIN campaigns_message m ON m.run_id = r.run_id AND m.number = r.message
WHERE k.run_id = %(run)s AND k.reasons -> '{Reason.CRASHED_WORKERS}' IS NOT NULL
    AND d.reason = '{Reason.CRASHED_WORKERS}' AND COALESCE(m.shares, m.number) = %(call)s
"""


def _may_be_split(run: Run, chunk: Chunk) -> bool:
    """Whether the chunk may be split.

    A campaign has one text. Until FCM accepted it once, the text itself may crash workers, and a
    person decides. While recipients are being frozen, chunks are still being numbered.
    """
    if chunk.lapses < CUT_FROM:
        return False
    if run.kind == Run.Kind.MESSAGES:
        return True
    goes_on = run.state != Run.State.CANCELLED and run.unfrozen is None
    return goes_on and run.accepted > 0 and chunk.lapses < LAPSES_ALLOWED


def _units(run: Run, chunk: Chunk) -> list[Unit]:
    with connection.cursor() as cursor:
        params = {"run": run.pk, "first": chunk.first_seq, "last": chunk.last_seq}
        cursor.execute(UNITS, params)
        return [Unit(*row) for row in cursor.fetchall()]


def _is_one_text(run: Run, chunk: Chunk, units: list[Unit]) -> bool:
    """Whether the text of one API call crashes workers: LAPSES_ALLOWED of its messages were given
    up already. Splitting further would cost five workers for each of thousands of people."""
    calls = {unit.call for unit in units}
    if chunk.lapses < LAPSES_ALLOWED or len(calls) > 1 or None in calls:
        return False
    with connection.cursor() as cursor:
        cursor.execute(GIVEN_UP, {"run": run.pk, "call": units[0].call})
        given_up: int = cursor.fetchone()[0]
    return given_up >= LAPSES_ALLOWED


# --- Splitting ------------------------------------------------------------------------------------

OUTCOMES = """
SELECT status, reason, revision, count(*) FROM campaigns_delivery
WHERE run_id = %(run)s AND seq > %(after)s AND seq <= %(last)s GROUP BY 1, 2, 3
"""
# Windows keep what they record: the recipients, the time, the fence and the text.
MOVE = """
UPDATE campaigns_retry SET chunk_id = %(new)s WHERE chunk_id = %(old)s AND seq > %(after)s;
INSERT INTO campaigns_window (run_id, chunk_id, attempt, revision, seqs, opened_at, settled_at)
SELECT run_id, %(new)s, attempt, revision,
    ARRAY(SELECT seq FROM unnest(seqs) seq WHERE seq > %(after)s), opened_at, settled_at
FROM campaigns_window WHERE chunk_id = %(old)s AND %(after)s < ANY(seqs);
UPDATE campaigns_window SET seqs = ARRAY(SELECT seq FROM unnest(seqs) seq WHERE seq <= %(after)s)
WHERE chunk_id = %(old)s AND %(after)s < ANY(seqs);
DELETE FROM campaigns_window WHERE chunk_id = %(old)s AND seqs = '{}'
"""


def _split_chunk(run: Run, chunk: Chunk, *, after: int) -> None:
    """Move the recipients behind `after` to a chunk of their own, with their outcomes and windows.

    If the process dies here: nothing is committed, and the next pass splits the chunk.
    """
    Run.kept.select_for_update(no_key=True).get(pk=run.pk)  # other processes that add chunks wait
    statuses, reasons, revisions = _count_outcomes(chunk, after)
    upper = Chunk.objects.create(
        run=run,
        number=1 + run.chunks.aggregate(last=Max("number"))["last"],
        first_seq=after + 1,
        last_seq=chunk.last_seq,
        wave=chunk.wave,
        queued_at=chunk.queued_at,
        attempt=chunk.attempt,
        lapses=chunk.lapses,
        bulk=chunk.bulk,
        follows=chunk.follows,
        reasons=dict(reasons),
        revisions=dict(revisions),
        **statuses,
    )
    Chunk.objects.filter(pk=chunk.pk).update(
        last_seq=after,
        reasons=dict(Counter(chunk.reasons) - reasons),
        revisions=dict(Counter(chunk.revisions) - revisions),
        **{name: getattr(chunk, name) - count for name, count in statuses.items()},
    )
    with connection.cursor() as cursor:
        cursor.execute(MOVE, {"old": chunk.pk, "new": upper.pk, "after": after})


def _count_outcomes(chunk: Chunk, after: int) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Outcomes of the recipients behind `after`, counted by status, by reason and by revision."""
    statuses, reasons, revisions = Counter[str](), Counter[str](), Counter[str]()
    values: dict[str, Any] = {"run": chunk.run_id, "after": after, "last": chunk.last_seq}
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, values)
        for status, reason, revision, count in cursor.fetchall():
            statuses[status] += count
            if reason:
                reasons[reason] += count
            if revision > FIRST:
                revisions[key_of(revision, status)] += count
    return statuses, reasons, revisions
