"""Counted: who was rung lately, and when? One row for each recipient whose window opened.

It is written in the statement that opens the window, so a killed worker leaves exactly the windows
that it opened counted, and whoever takes its chunk over finds them counted already. What surely did
not arrive is given back as its outcome is written. Nothing of this costs a project without caps
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.indexes import BrinIndex
from django.db import connection, models

from notifications.people.consent.caps import A_DAY, A_WEEK, Caps

KEPT_FOR = timedelta(days=8)
AT_ONCE = 50_000


class Counted(models.Model):
    """A recipient who was rung, or may have been: accepted, unknown, or on the way."""

    pk = models.CompositePrimaryKey("contact_id", "run_id", "seq")
    contact_id = models.BigIntegerField()
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    # The number of the message in a run of messages, else 0: a person's devices count as one.
    message = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        indexes = [BrinIndex(fields=["at"], name="counted_by_time")]

    def __str__(self) -> str:
        return f"person {self.contact_id} by {self.seq} of run {self.run_id}"


# Of the people of some recipients, what they got within the week; and whether that is enough. All
# people at once: asked for one by one it took three times as long.
LATELY = """(
    SELECT contact_id, array_agg(message) FILTER (WHERE run_id = %(run)s) AS own,
        count(*) FILTER (WHERE at > statement_timestamp() - interval '1 day') >= %(cap_day)s::int
        OR count(*) >= %(cap_week)s::int
        OR max(at) > statement_timestamp() - %(cap_gap)s::interval AS enough
    FROM (
        -- A person's devices count as one.
        SELECT k.contact_id, k.run_id, k.message, max(k.at) AS at FROM campaigns_counted k
        WHERE k.at > statement_timestamp() - interval '7 days' AND k.contact_id = ANY(ARRAY(
            SELECT contact_id FROM campaigns_recipient WHERE run_id = %(run)s AND {these}
        ))
        GROUP BY 1, 2, 3
    ) each GROUP BY contact_id
) lately"""
# Whether the person of a recipient `r` has had enough. Not for what they were rung for already: a
# second device of theirs, or another try.
ENOUGH = """COALESCE(
    lately.enough AND NOT COALESCE(COALESCE(r.message, 0) = ANY(lately.own), FALSE), FALSE)"""


def join(these: str) -> str:
    """To a recipient `r`: what the people got lately of those of its run for whom this is true."""
    return f"LEFT JOIN {LATELY.format(these=these)} ON lately.contact_id = r.contact_id"


# Of those whose window opens: `asked` has each with why they are out, `opened` the window.
COUNT = """
INSERT INTO campaigns_counted (contact_id, run_id, seq, message, at)
SELECT contact_id, %(run)s, seq, COALESCE(message, 0), statement_timestamp() FROM asked
WHERE out = '' AND EXISTS (SELECT FROM opened)
ON CONFLICT DO NOTHING
"""


def asked_of(caps: Caps | None) -> dict[str, Any]:
    """The parameters of ENOUGH. Of what only counts, nobody has had enough."""
    held = caps if caps and caps.holds else None
    return {
        "cap_day": held and held.per_day,
        "cap_week": held and held.per_week,
        "cap_gap": held and held.gap,
    }


def take_turns(project_id: int) -> None:
    """Until the transaction ends, no other window of the project opens: two that open at once would
    not see what the other counts."""
    with connection.cursor() as cursor:
        key = f"caps of project {project_id}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


GIVE_BACK = """
DELETE FROM campaigns_counted k
USING unnest(%(contacts)s::bigint[], %(seqs)s::int[]) AS one (contact_id, seq)
WHERE k.contact_id = one.contact_id AND k.run_id = %(run)s AND k.seq = one.seq
"""


def give_back(run_id: int, recipients: Sequence[tuple[int, int]]) -> None:
    """Of people and their numbers, whose phones surely did not ring."""
    if not recipients:
        return
    contacts, seqs = zip(*recipients, strict=True)
    values: dict[str, Any] = {"run": run_id, "contacts": [*contacts], "seqs": [*seqs]}
    with connection.cursor() as cursor:
        cursor.execute(GIVE_BACK, values)


def enough_by(caps: Caps, at: datetime) -> tuple[str, list[Any]]:
    """Of the people `c`: whether they had enough then, or will have by what they got until now."""
    sql = """c.id IN (
        SELECT k.contact_id FROM campaigns_counted k WHERE k.at > %s AND k.at <= %s
        GROUP BY k.contact_id
        HAVING count(DISTINCT (k.run_id, k.message)) FILTER (WHERE k.at > %s) >= %s::int
            OR count(DISTINCT (k.run_id, k.message)) >= %s::int
            OR max(k.at) > %s
    )"""
    since = at - caps.gap if caps.gap else None
    return sql, [at - A_WEEK, at, at - A_DAY, caps.per_day, caps.per_week, since]


def remove_old(now: datetime) -> None:
    """What no cap asks for any more, a part of it at a time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM campaigns_counted WHERE ctid = ANY(ARRAY("
            "SELECT ctid FROM campaigns_counted WHERE at < %s LIMIT %s))",
            [now - KEPT_FOR, AT_ONCE],
        )


def forget(contact_ids: Sequence[int]) -> None:
    """With who is erased."""
    Counted.objects.filter(contact_id__in=contact_ids).delete()
