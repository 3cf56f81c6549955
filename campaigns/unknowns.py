"""What nobody can know: whether the phone rang. A person sends again, or lets it be.

The only place where a delivery is taken back or relabelled: an unknown outcome is no outcome yet.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db import connection, transaction
from django.db.models import Case, F, Value, When
from django.utils import timezone
from django.utils.translation import gettext

from campaigns.chunk import Chunk
from campaigns.ledger import Delivery
from campaigns.reasons import Reason
from campaigns.run import Run


def undecided(run: Run) -> int:
    """Recipients whose outcome is unknown and whom no person has looked at."""
    return sum(chunk.unknown - chunk.reasons.get(Reason.LET_BE, 0) for chunk in _chunks(run))


def send_again(run: Run) -> int:
    """Put them among the waiting, marked: whatever comes of it may be the phone's second.

    Raises Run.InvalidMove. A finished run goes on sending until it balances again.
    """
    if run.forgotten_at:
        raise Run.InvalidMove(gettext("Its recipients were removed: nobody knows who they were."))
    if timezone.now() > run.deadline:
        raise Run.InvalidMove(
            gettext("Its deadline has passed: nothing of it would be sent. Duplicate it instead.")
        )
    with transaction.atomic():
        run.reopen()
        return sum(_take_back(chunk) for chunk in _chunks(run).select_for_update(no_key=True))


def let_be(run: Run) -> int:
    """Leave them as they are, and ask nobody again. They stay unknown in every total."""
    with transaction.atomic():
        return sum(_leave(chunk) for chunk in _chunks(run).select_for_update(no_key=True))


def _chunks(run: Run) -> Any:
    return run.chunks.filter(unknown__gt=0).order_by("number")


# A released recipient may be sent to once more: not if a worker dies on it another time.
TAKE_BACK = """
WITH taken AS (
    DELETE FROM campaigns_delivery
    WHERE run_id = %(run)s AND seq BETWEEN %(first)s AND %(last)s
        AND status = 'unknown' AND reason <> 'let_be'
    RETURNING seq, reason, resent
), waiting AS (
    INSERT INTO campaigns_retry
        (run_id, seq, chunk_id, tries, first_tried_at, not_before, reason, ambiguous, released)
    SELECT %(run)s, seq, %(chunk)s, CASE WHEN resent THEN 2 ELSE 1 END, now(), now(), reason, TRUE,
        %(attempt)s
    FROM taken
)
SELECT reason, count(*) FROM taken GROUP BY reason
"""


def _take_back(chunk: Chunk) -> int:
    values = {"run": chunk.run_id, "chunk": chunk.pk, "attempt": chunk.attempt}
    values |= {"first": chunk.first_seq, "last": chunk.last_seq}
    with connection.cursor() as cursor:
        cursor.execute(TAKE_BACK, values)
        taken = Counter(dict(cursor.fetchall()))
    at_rest = When(
        state__in=(Chunk.State.CLOSED, Chunk.State.HELD), then=Value(Chunk.State.WAITING)
    )
    if taken:
        Chunk.objects.filter(pk=chunk.pk).update(
            state=Case(at_rest, default=F("state")),
            not_before=None,
            unknown=F("unknown") - taken.total(),
            reasons=_without(chunk, taken),
        )
    return taken.total()


def _leave(chunk: Chunk) -> int:
    rows = Delivery.objects.filter(
        run_id=chunk.run_id,
        seq__range=(chunk.first_seq, chunk.last_seq),
        status=Delivery.Status.UNKNOWN,
    ).exclude(reason=Reason.LET_BE)
    left = Counter(rows.values_list("reason", flat=True))
    rows.update(reason=Reason.LET_BE)
    reasons = Counter(_without(chunk, left)) + Counter({Reason.LET_BE.value: left.total()})
    Chunk.objects.filter(pk=chunk.pk).update(reasons=dict(reasons))
    return left.total()


def _without(chunk: Chunk, gone: Counter[str]) -> dict[str, int]:
    return dict(Counter(chunk.reasons) - gone)
