"""Comparing two runs of a project: which people joined, left, or were in both.

It counts people, not devices. Each run has an index of its people, and the two indexes are read in
parallel: 1.3 s for two runs of two million. If that takes too long, the counts are estimated from
every 64th person.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db import connection
from django.db.models import QuerySet

from campaigns.runs.ledger import partition
from campaigns.runs.run import Run
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 4.0
LISTING_SECONDS = 4.0
ONE_IN = 64


class Who(StrEnum):
    """Which people of the two runs to list."""

    JOINED = "joined"
    LEFT = "left"
    BOTH = "both"


@dataclass(frozen=True)
class Counts:
    """How many people joined, left, or were in both; an estimate if counting takes too long."""

    joined: int
    left: int
    both: int
    exact: bool


def comparable(run: Run) -> QuerySet[Run]:
    """Other runs of the project whose people are all chosen, newest first."""
    other_runs = Run.objects.filter(project=run.project_id, planned__gt=0).exclude(pk=run.pk)
    whole = other_runs.filter(unfrozen=None, people__isnull=False)
    return whole.select_related("campaign", "project").order_by("-pk")


def is_comparable(run: Run) -> bool:
    return bool(run.planned) and not run.freezing and run.forgotten_at is None


def one_before(run: Run) -> Run | None:
    """The run to compare with: the one before of the same campaign.

    If there is none, it is the one before to the same audience, else the project's.
    """
    earlier = comparable(run).filter(pk__lt=run.pk, forgotten_at=None)
    alike = earlier.filter(campaign__audience=run.campaign.audience_id)
    return earlier.filter(campaign=run.campaign_id).first() or alike.first() or earlier.first()


BOTH = """
SELECT count(DISTINCT n.contact_id)
FROM {newer} n JOIN {older} o USING (contact_id) WHERE {some}
"""


def counts(newer: Run, older: Run) -> Counts:
    """Count who joined, left, or was in both. Raises TooSlow if even an estimate takes too long."""
    try:
        both, exact = _in_both(newer, older, "TRUE"), True
    except TooSlow:
        some = " AND ".join(f"{_bucket_sql(alias)} = 0" for alias in ("n", "o"))
        both, exact = ONE_IN * _in_both(newer, older, some), False
    now, before = newer.people or 0, older.people or 0
    both = min(both, now, before)
    return Counts(now - both, before - both, both, exact)


def _bucket_sql(alias: str) -> str:
    """SQL of a person's bucket, by a hash: consecutive ids may have something in common."""
    return f"hashint8extended({alias}.contact_id, 0) & {ONE_IN - 1}"


def _in_both(newer: Run, older: Run, some: str) -> int:
    with statement_timeout(seconds=COUNTING_SECONDS), connection.cursor() as cursor:
        cursor.execute(BOTH.format(**_partitions(newer, older), some=some))
        people: int = cursor.fetchone()[0]
    return people


def _partitions(newer: Run, older: Run) -> dict[str, str]:
    runs = {"newer": newer, "older": older}
    return {name: partition("campaigns_recipient", run.pk) for name, run in runs.items()}


PEOPLE = """
SELECT p.contact_id, c.external_id
FROM (
    SELECT DISTINCT r.contact_id FROM {of} r
    WHERE r.contact_id > %(after)s
        AND {has} (SELECT 1 FROM {other} o WHERE o.contact_id = r.contact_id)
    ORDER BY r.contact_id LIMIT %(limit)s
) p LEFT JOIN notifications_contact c ON c.id = p.contact_id
ORDER BY p.contact_id
"""


@dataclass(frozen=True)
class Person:
    """A person of a run; without an external id if they were erased since."""

    contact_id: int
    external_id: str | None


def people(newer: Run, older: Run, who: Who, *, after: int, limit: int) -> list[Person]:
    """List these people, by id. Raises TooSlow if there are very few among very many."""
    parts = _partitions(newer, older)
    table, other_table = parts["newer"], parts["older"]
    if who is Who.LEFT:
        table, other_table = other_table, table
    has = "EXISTS" if who is Who.BOTH else "NOT EXISTS"
    with statement_timeout(seconds=LISTING_SECONDS), connection.cursor() as cursor:
        statement = PEOPLE.format(of=table, other=other_table, has=has)
        cursor.execute(statement, {"after": after, "limit": limit})
        return [Person(*row) for row in cursor.fetchall()]
