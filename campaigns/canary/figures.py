"""Canary figures: the results of a first part, from the sums of its chunks and phones' receipts."""

from __future__ import annotations

from django.db import connection
from django.db.models import Sum

from campaigns.canary.first_part import FirstPart, ranges_of
from campaigns.canary.judgement import Figures
from campaigns.engagement.receipt import EchoSum, Event
from campaigns.engagement.reporting import reporting
from campaigns.runs.reasons import DEAD

DEAD_OF = """
SELECT COALESCE(sum(count::int), 0)::int
FROM campaigns_chunk, jsonb_each_text(reasons) AS each (reason, count)
WHERE run_id = %s AND NOT follows AND reason = ANY(%s)
"""


def figures_of(part: FirstPart) -> Figures:
    """The figures at the decision, or the present ones before it. Reads chunks, no recipients."""
    return Figures(**part.figures) if part.figures and part.went_on_at else _current_figures(part)


def _current_figures(part: FirstPart) -> Figures:
    names = ("accepted", "rejected", "unknown")
    sums = part.chunks.aggregate(**{name: Sum(name, default=0) for name in names})
    dead = _count_dead(part)
    # The rest has got nothing yet, so all receipts of the run are of the first part.
    received = EchoSum.objects.filter(
        run_id=part.pk, by=EchoSum.By.ALL, value="", event=Event.RECEIVED
    ).first()
    return Figures(
        sent=sum(sums.values()),
        accepted=sums["accepted"],
        rejected=sums["rejected"] - dead,
        dead=dead,
        able=None if part.known is None else part.known + (received.first if received else 0),
        received=received.count if received else 0,
    )


def _count_dead(part: FirstPart) -> int:
    with connection.cursor() as cursor:
        cursor.execute(DEAD_OF, [part.pk, [str(reason) for reason in DEAD]])
        count: int = cursor.fetchone()[0]
    return count


def count_able_to_report(run_id: int) -> None:
    """Count the devices of the first part that can report receipts, once all have an outcome.

    Two calls at once count the same. If the process dies here: the next call counts.
    """
    uncounted = FirstPart.objects.filter(
        run=run_id, sent_at__isnull=False, known=None, went_on_at=None
    )
    if (part := uncounted.first()) is not None:
        uncounted.update(
            known=sum(_count_known_to_report(run_id, seqs) for seqs in ranges_of(part.chunks))
        )


def _count_known_to_report(run_id: int, seqs: range) -> int:
    rows = reporting(run_id, after=seqs.start - 1, through=seqs.stop - 1)
    return sum(count for by, _value, event, count in rows if not by and event == Event.RECEIVED)
