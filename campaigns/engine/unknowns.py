"""Unknown outcomes: nobody knows whether the phone rang. A person sends again or keeps them.

This is the only place that removes or relabels a delivery: an unknown outcome is not final, and a
temporary refusal by FCM need not be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Case, F, IntegerField, Q, Sum, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from campaigns.runs import prior_recipients
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import MAX_COPIES, Delivery
from campaigns.runs.reasons import OF_THE_MOMENT, Reason
from campaigns.runs.revisions.shares import key_of
from campaigns.runs.run import Run


def undecided(run: Run) -> int:
    """Count recipients with an unknown outcome that no person has decided on.

    A cancelled run has none: to cancel was the decision.
    """
    if run.state == Run.State.CANCELLED:
        return 0
    return _sum_over_chunks(run, F("unknown") - _count_of_reason(Reason.LET_BE))


def refused_for_the_moment(run: Run) -> int:
    """Count recipients that FCM refused for a temporary reason; their phones surely did not ring.

    Returns 0 if the campaign sends once per person and a later run of it may have reached them.
    """
    if prior_recipients.later_run_started(run):
        return 0
    return sum(_sum_over_chunks(run, _count_of_reason(reason)) for reason in OF_THE_MOMENT)


def _sum_over_chunks(run: Run, expression: Any) -> int:
    """Add up over the run's chunks: a run of millions has only thousands."""
    return int(run.chunks.aggregate(all=Sum(expression))["all"] or 0)


def _count_of_reason(reason: Reason) -> Any:
    count = Cast(KeyTextTransform(str(reason), "reasons"), IntegerField())
    return Coalesce(count, 0)


def send_again(run: Run) -> int:
    """Make these recipients wait again, marked: the phone may get a second copy. Returns how many.

    A finished run sends again until all of them have an outcome. Raises Run.InvalidMove.
    """
    if run.forgotten_at:
        raise Run.InvalidMove(gettext("Its recipients were removed and cannot be sent to again."))
    if timezone.now() > run.deadline:
        raise Run.InvalidMove(
            gettext("Its deadline has passed: nothing of it would be sent. Duplicate it instead.")
        )
    with transaction.atomic():
        prior_recipients.lock_campaign(run)
        run.reopen()
        # People who surely did not get it may be in a later run by now.
        refused = [] if prior_recipients.later_run_started(run) else OF_THE_MOMENT
        locked = _affected_chunks(run).select_for_update(no_key=True)
        count = sum(_release_recipients(chunk, refused) for chunk in locked)
        transaction.set_rollback(not count)  # without any, a finished run stays finished
    if not count:
        run.refresh_from_db()
    return count


def keep_unknown(run: Run) -> int:
    """Keep the outcomes as unknown in every total, and ask nobody again. Returns how many."""
    with transaction.atomic():
        return sum(
            _keep_unknown(chunk) for chunk in _affected_chunks(run).select_for_update(no_key=True)
        )


def _affected_chunks(run: Run) -> Any:
    worth_it = Q(unknown__gt=0) | Q(reasons__has_any_keys=[str(reason) for reason in OF_THE_MOMENT])
    return run.chunks.filter(worth_it).order_by("number")


# A recipient that may have got it is released for one more request. If a worker dies during that
# request, no other follows.
TAKE_BACK = """
WITH taken AS (
    DELETE FROM campaigns_delivery
    WHERE run_id = %(run)s AND seq BETWEEN %(first)s AND %(last)s
        AND (status = 'unknown' AND reason <> 'let_be'
            OR status = 'rejected' AND reason = ANY(%(of_the_moment)s))
    RETURNING seq, status, reason, revision, status = 'unknown' OR resent AS ambiguous
), waiting AS (
    INSERT INTO campaigns_retry
        (run_id, seq, chunk_id, tries, first_tried_at, not_before, reason, ambiguous, copies,
         released)
    SELECT %(run)s, seq, %(chunk)s, 1, now(), now(), reason, ambiguous,
        CASE WHEN ambiguous THEN %(one_left)s ELSE 0 END,
        CASE WHEN ambiguous THEN %(attempt)s END
    FROM taken
    ON CONFLICT (run_id, seq) DO UPDATE SET
        not_before = now(), ambiguous = EXCLUDED.ambiguous, copies = EXCLUDED.copies,
        released = EXCLUDED.released
)
SELECT status, reason, revision, count(*), count(*) FILTER (WHERE ambiguous)
FROM taken GROUP BY 1, 2, 3
"""


def _release_recipients(chunk: Chunk, refused: Sequence[Reason]) -> int:
    values: dict[str, Any] = {"run": chunk.run_id, "chunk": chunk.pk, "attempt": chunk.attempt}
    values |= {"first": chunk.first_seq, "last": chunk.last_seq}
    values |= {"one_left": MAX_COPIES - 1, "of_the_moment": [*map(str, refused)]}
    statuses, reasons, revisions, released = Counter[str](), Counter[str](), Counter[str](), 0
    with connection.cursor() as cursor:
        cursor.execute(TAKE_BACK, values)
        for status, reason, revision, count, ambiguous in cursor.fetchall():
            statuses[status] += count
            reasons[reason] += count
            revisions[key_of(revision, status)] += count
            released += ambiguous
    at_rest = When(
        state__in=(Chunk.State.CLOSED, Chunk.State.HELD), then=Value(Chunk.State.WAITING)
    )
    if reasons:
        Chunk.objects.filter(pk=chunk.pk).update(
            state=Case(at_rest, default=F("state")),
            not_before=None,
            unknown=F("unknown") - statuses["unknown"],
            rejected=F("rejected") - statuses["rejected"],
            released=F("released") + released,
            reasons=_subtract(chunk.reasons, reasons),
            revisions=_subtract(chunk.revisions, revisions),
        )
    return reasons.total()


def _keep_unknown(chunk: Chunk) -> int:
    rows = Delivery.objects.filter(
        run_id=chunk.run_id,
        seq__range=(chunk.first_seq, chunk.last_seq),
        status=Delivery.Status.UNKNOWN,
    ).exclude(reason=Reason.LET_BE)
    left = Counter(rows.values_list("reason", flat=True))
    rows.update(reason=Reason.LET_BE)
    reasons = Counter(_subtract(chunk.reasons, left)) + Counter({Reason.LET_BE.value: left.total()})
    Chunk.objects.filter(pk=chunk.pk).update(reasons=dict(reasons))
    return left.total()


def _subtract(sums: dict[str, int], removed: Counter[str]) -> dict[str, int]:
    return dict(Counter(sums) - removed)
