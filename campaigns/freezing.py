"""Freezing: who is in this run? The audience as numbered Recipients, cut into Chunks.

In parts, by person: the first wave leaves while millions are still being frozen, and a crash costs
one part. The parts follow the people's ids, so nobody is in two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from campaigns import details, ledger
from campaigns.audience import hold_lists
from campaigns.chunk import SIZE, Chunk
from campaigns.failpoints import hit
from campaigns.reasons import Cause
from campaigns.run import Run
from campaigns.selection import PEOPLE_AND_DEVICES, compile_tree

PEOPLE_AT_ONCE = 250_000  # looked at for one part: half a second
RECIPIENTS = "campaigns_recipient"
TABLES = (RECIPIENTS, "campaigns_delivery")


@dataclass(frozen=True)
class Part:
    """What one part added, and the last person looked at; None when there is nobody after it."""

    recipients: int
    people: int
    through: int | None


def begin(run: Run, *, now: datetime) -> None:
    """Freeze the first part, which is everybody of all but the largest projects; start sending."""
    if gone := hold_lists(run.project_id, run.rules):
        # Nobody is on it now: whoever was left out by it would get the message.
        lists = ", ".join(map(str, sorted(gone)))
        run.pause(Cause.BROKEN, details.LIST_GONE.format(lists=lists))
        return
    for table in TABLES:
        ledger.detached_partition(table, run.pk)
    part = _freeze(run, after=0, known=0)
    for table in TABLES:
        ledger.attach_partition(table, run.pk)
    run.move_to(
        Run.State.SENDING,
        planned=part.recipients,
        people=part.people,
        frozen_through=part.through,
        started_at=now,
    )


def go_on(run: Run) -> None:
    """Freeze the next part of a run that has begun."""
    known, people = run.planned or 0, run.people or 0
    part = _freeze(run, after=run.frozen_through or 0, known=known)
    run.planned, run.people = known + part.recipients, people + part.people
    run.frozen_through = part.through
    run.save(update_fields=["planned", "people", "frozen_through"])


def _freeze(run: Run, *, after: int, known: int) -> Part:
    through = _end_of_part(run, after)
    recipients = _write_recipients(run, after, through, known)
    planned = known + recipients
    Chunk.objects.bulk_create(
        Chunk(run=run, number=number, first_seq=first, last_seq=min(first + SIZE - 1, planned))
        for number, first in enumerate(
            range(known + 1, planned + 1, SIZE), start=1 + run.chunks.count()
        )
    )
    people = _people_of(run, known)
    hit("prepare")
    return Part(recipients, people, through)


def _end_of_part(run: Run, after: int) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifications_contact WHERE project_id = %s AND id > %s"
            " ORDER BY id OFFSET %s LIMIT 1",
            [run.project_id, after, PEOPLE_AT_ONCE - 1],
        )
        found = cursor.fetchone()
    return found[0] if found else None


def _write_recipients(run: Run, after: int, through: int | None, known: int) -> int:
    where = compile_tree(run.rules)
    # Said of the devices too: PostgreSQL would read all of them for the people of one part.
    ids = " AND ".join(
        f"{column} > %s" + ("" if through is None else f" AND {column} <= %s")
        for column in ("c.id", "d.contact_id")
    )
    bounds = [after] if through is None else [after, through]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {ledger.partition(RECIPIENTS, run.pk)}"
            " (run_id, seq, contact_id, device_id)"
            " SELECT %s, %s + row_number() OVER (ORDER BY c.id, d.id), c.id, d.id"
            f" FROM {PEOPLE_AND_DEVICES}"
            f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {ids} AND {where.sql}",
            [run.pk, known, run.project_id, *bounds, *bounds, *where.params],
        )
        written: int = cursor.rowcount
    return written


def _people_of(run: Run, known: int) -> int:
    recipients = ledger.partition(RECIPIENTS, run.pk)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {recipients}")
        cursor.execute(
            f"SELECT count(DISTINCT contact_id) FROM {recipients} WHERE seq > %s", [known]
        )
        people: int = cursor.fetchone()[0]
    return people
