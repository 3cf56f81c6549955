"""Counted: the pushes that each person got lately, for frequency caps. One row per recipient.

The statement that opens a recipient's window writes the row. So a killed worker leaves exactly its
opened windows counted, and the worker that takes its chunk over finds them counted already. A push
that surely did not arrive is removed when its outcome is written. A project without caps pays
nothing for this.

Caps are checked twice: when a chunk's people are read, and when their window opens. The second look
covers only people who were counted since the first. For all others the first look still holds:
time alone only lowers their counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.postgres.indexes import BrinIndex
from django.db import connection, models, transaction
from django.db.models.functions import Extract

from campaigns.runs.caps.reserved_places import Place
from campaigns.runs.reasons import Reason
from notifications.people.consent.caps import Caps, Limits

KEPT_FOR = timedelta(days=8)
AT_ONCE = 50_000
# A window that opened before our first look may be committed after it. No transaction lasts as
# long as this, see settings.DATABASES.
UNSEEN_FOR = timedelta(minutes=10)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Counted(models.Model):
    """A recipient whose push arrived or may have: it is accepted, unknown, or on the way."""

    # In this order, so that reading a person's last days reads one leaf of the index.
    pk = models.CompositePrimaryKey("contact_id", "at", "run_id", "seq")
    contact_id = models.BigIntegerField()
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    # The number of the message in a run of messages, else 0: a person's devices count as one.
    message = models.BigIntegerField()
    category = models.BigIntegerField(null=True)
    at = models.DateTimeField()

    class Meta:
        # For removing old rows. PostgreSQL would also use an index on plain `at` for the caps, and
        # read what was counted lately for all people: that took 40 ms a window.
        indexes = [BrinIndex(Extract("at", "epoch"), name="counted_by_time")]

    def __str__(self) -> str:
        return f"person {self.contact_id} by {self.seq} of run {self.run_id}"


NOW = "statement_timestamp()"
# What people got, and the places that are kept for them. A place some hours ahead counts as if it
# had been taken the same number of hours ago. People who got that message already have no place.
GOT = """
SELECT contact_id, run_id, message, category, at, FALSE AS kept FROM campaigns_counted WHERE {these}
"""
KEPT = """
UNION ALL
SELECT p.contact_id, p.run_id, 0, h.category_id,
    least({now}, {now} - (h.scheduled_at - {now})), TRUE
FROM {places} p JOIN campaigns_run h ON h.id = p.run_id
WHERE p.run_id = ANY(%(above)s) AND p.contact_id = ANY(ARRAY({people})) AND NOT EXISTS (
    SELECT FROM campaigns_counted k WHERE k.contact_id = p.contact_id AND k.run_id = p.run_id)
"""
# Places, with those that a launch would write, of which a rehearsal writes none.
FORESEEN = """(
    SELECT run_id, contact_id FROM campaigns_place
    UNION SELECT * FROM unnest(%(foreseen_runs)s::bigint[], %(foreseen_people)s::bigint[])
)"""
# Message by message: a person's devices count as one.
EACH = """
SELECT contact_id, run_id, message, max(category) AS category, max(at) AS at, bool_and(kept) AS kept
FROM ({got}) got GROUP BY 1, 2, 3
"""
# For each person: the messages of this run, and whether they reached a cap. One query for all
# people: one query for each took three times as long.
LATELY = """(
    SELECT contact_id, array_agg(message) FILTER (WHERE run_id = %(run)s) AS own,
        {enough} AS enough, {kept_for} AS kept_for
    FROM ({each}) each GROUP BY contact_id
) lately"""
# People who may have reached a cap. It counts each of their devices, so that rows need not be
# grouped by message. Few people are left to check exactly.
NEAR = """
SELECT contact_id FROM ({got}) got GROUP BY contact_id HAVING {enough}
"""
ANEW = """
SELECT contact_id FROM campaigns_counted
WHERE at > %(unseen_since)s AND contact_id = ANY(ARRAY({people}))
"""
# People for whom a run that has begun since then keeps a place.
KEPT_ANEW = """ UNION SELECT contact_id FROM campaigns_place
WHERE run_id = ANY(%(above)s) AND contact_id = ANY(ARRAY({people}))
"""
# Whether the person of a recipient `r` reached a cap. A message that was already counted for them
# is let through: it goes to their second device, or is another try.
ENOUGH = """COALESCE(
    lately.enough AND NOT COALESCE(COALESCE(r.message, 0) = ANY(lately.own), FALSE), FALSE)"""
# The reason in the statement's result, see `parse_reason`.
SAID = f"'{Reason.CAPPED.value}' || COALESCE(' ' || lately.kept_for, '')"


def parse_reason(out: str) -> tuple[Reason, str]:
    """Split a reason of the statement into the Reason and the detail."""
    code, _, run = out.partition(" ")
    return Reason(code), f"kept for run {run}" if run else ""


def first_look(caps: Caps, people: str, *, kept: bool, foreseen: bool = False) -> str:
    """SQL that joins to a recipient `r` what their person got lately, if they may reach a cap.

    It includes the places that are `kept` for other runs, if there are any, or `foreseen`.
    """
    places = FORESEEN if foreseen else "campaigns_place" if kept else ""
    near = NEAR.format(got=_got_sql(caps, people, places), enough=enough(caps, NOW))
    return _join_lately(caps, near, places)


def second_look(caps: Caps, people: str, *, kept: bool) -> str:
    """The same for people who were counted, or got a reserved place, since the first look."""
    people_sql = ANEW + KEPT_ANEW if kept else ANEW
    return _join_lately(caps, people_sql.format(people=people), "campaigns_place" if kept else "")


def _join_lately(caps: Caps, people: str, places: str) -> str:
    kept_for = _kept_for_sql(caps, NOW) if places else "NULL::bigint"
    each_sql = EACH.format(got=_got_sql(caps, people, places))
    lately = LATELY.format(each=each_sql, enough=enough(caps, NOW), kept_for=kept_for)
    return f"LEFT JOIN {lately} ON lately.contact_id = r.contact_id"


def _got_sql(caps: Caps, people: str, places: str) -> str:
    condition = f"{_within_sql(caps.longest, NOW)} AND contact_id = ANY(ARRAY({people}))"
    got = GOT.format(these=condition)
    return got + KEPT.format(now=NOW, people=people, places=places) if places else got


def _kept_for_sql(caps: Caps, now: str) -> str:
    """SQL for the run whose reserved place decides; NULL if the cap is reached without it."""
    anyway = enough(caps, now, " AND NOT kept")
    return f"CASE WHEN NOT ({anyway}) THEN min(run_id) FILTER (WHERE kept) END"


def enough(caps: Caps, now: str, only: str = "") -> str:
    """SQL over the rows of one person: whether they have reached a limit."""
    own = f"{only} AND category = {caps.category}"
    return " OR ".join([*_reached_sql(caps.overall, only, now), *_reached_sql(caps.own, own, now)])


def _reached_sql(limits: Limits, condition: str, now: str) -> Iterator[str]:
    for period, limit in limits.each:
        yield f"count(*) FILTER (WHERE {_within_sql(period, now)}{condition}) >= {limit:d}"


def _within_sql(period: timedelta, now: str) -> str:
    return f"at > {now} - interval '{period.total_seconds():.0f} seconds'"


# Until the transaction ends, no other window of the project opens: two windows that open at once
# would not see each other's counts. It is sent before the statement in one round trip, so that the
# statement reads what is there once it has its turn.
TURN = """SELECT pg_advisory_xact_lock(hashtextextended('caps of project ' || %(project)s, 0));
"""
# Counts the people of an opened window. `checked` says why a person is left out of it.
COUNT = """
INSERT INTO campaigns_counted (contact_id, run_id, seq, message, category, at)
SELECT contact_id, %(run)s, seq, COALESCE(message, 0), %(category)s::bigint,
    (SELECT clock_timestamp())
FROM checked WHERE out = '' AND EXISTS (SELECT FROM opened)
"""


GIVE_BACK = """
DELETE FROM campaigns_counted k
USING unnest(%(contacts)s::bigint[], %(seqs)s::int[]) AS one (contact_id, seq)
WHERE k.contact_id = one.contact_id AND k.run_id = %(run)s AND k.seq = one.seq
"""


def give_back(run_id: int, recipients: Sequence[tuple[int, int]]) -> None:
    """Remove the rows of these (contact, seq) pairs: their pushes surely did not arrive."""
    if not recipients:
        return
    contacts, seqs = zip(*recipients, strict=True)
    values: dict[str, Any] = {"run": run_id, "contacts": [*contacts], "seqs": [*seqs]}
    with connection.cursor() as cursor:
        cursor.execute(GIVE_BACK, values)


@dataclass(frozen=True)
class Coming:
    """A run for which places are kept, and a statement that finds its people."""

    run_id: int
    category: int | None
    at: datetime
    people: str
    params: Sequence[Any]

    def as_taken(self, by: datetime) -> str:
        taken_at = _timestamp_sql(min(by, by - (self.at - by)))
        category = "NULL" if self.category is None else self.category
        return (
            f" UNION ALL SELECT contact_id, {self.run_id}, 0, {category}, {taken_at}, TRUE"
            f" FROM ({self.people}) coming WHERE NOT EXISTS (SELECT FROM campaigns_counted k"
            f" WHERE k.contact_id = coming.contact_id AND k.run_id = {self.run_id})"
        )


def enough_by(caps: Caps, at: datetime, coming: Sequence[Coming]) -> tuple[str, list[Any]]:
    """A condition on the people `c`: whether they reach a cap at this time.

    It counts what they got until then, and the places for the runs in `coming`.
    """
    then = _timestamp_sql(at)
    having = enough(caps, then)
    condition = f"{_within_sql(caps.longest, then)} AND at <= {then}"
    if not coming:  # with coming runs, finding their people first would cost more than this saves
        near = NEAR.format(got=GOT.format(these=condition), enough=having)
        condition += f" AND contact_id = ANY(ARRAY({near}))"
    got = GOT.format(these=condition) + "".join(coming_run.as_taken(at) for coming_run in coming)
    each_sql = EACH.format(got=got)
    sql = f"c.id IN (SELECT contact_id FROM ({each_sql}) each GROUP BY 1 HAVING {having})"
    return sql, [param for coming_run in coming for param in coming_run.params]


def _timestamp_sql(at: datetime) -> str:
    return f"'{at.isoformat()}'::timestamptz"


def remove_old(now: datetime) -> None:
    """Remove rows that no cap reads any more, up to AT_ONCE at a time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM campaigns_counted WHERE ctid = ANY(ARRAY("
            "SELECT ctid FROM campaigns_counted"
            " WHERE EXTRACT(EPOCH FROM at AT TIME ZONE 'UTC') < %s LIMIT %s))",
            [(now - KEPT_FOR).timestamp(), AT_ONCE],
        )


@transaction.atomic
def forget(contact_ids: Sequence[int]) -> None:
    """Remove the rows and places of people who are being erased."""
    Counted.objects.filter(contact_id__in=contact_ids).delete()
    places = Place.objects.filter(contact_id__in=contact_ids)
    # In the same order as workers that give places back.
    list(places.order_by("contact_id").select_for_update().values_list("contact_id"))
    places.delete()
