"""Had: who got a campaign in one of its runs, or may have: accepted, or unknown.

A run is read into the memory once it has ended, and before its recipients are removed. Until then
its own rows say it: whoever still waits in a run that goes on counts as having had it, so that two
runs of a campaign never ring for the same person. A person's devices count as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, models
from django.db.models import F, Q, QuerySet

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.asked.known import section
from notifications.people.contact import Contact

GOT_IT = (Delivery.Status.ACCEPTED, Delivery.Status.UNKNOWN)


class Had(models.Model):
    """A person who had a campaign, and the run that first brought it."""

    pk = models.CompositePrimaryKey("contact_id", "campaign_id")
    contact_id = models.BigIntegerField()
    campaign_id = models.BigIntegerField()
    run_id = models.BigIntegerField()

    def __str__(self) -> str:
        return f"person {self.contact_id} had campaign {self.campaign_id} by run {self.run_id}"


class Remembered(models.Model):
    """How much of a run the memory has."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="remembered"
    )
    # The end that was read: a run that was opened again since is read anew.
    finished_at = models.DateTimeField()
    through = models.IntegerField(default=0)  # the last recipient

    def __str__(self) -> str:
        return f"run {self.run_id} is remembered through {self.through}"


LACKING = (
    Q(remembered=None)
    | Q(remembered__through__lt=F("planned"))
    | ~Q(remembered__finished_at=F("finished_at"))
)


def take_turns(run: Run) -> None:
    """Until the transaction ends, no other run of its campaign chooses people, or sends again."""
    with connection.cursor() as cursor:
        key = f"who had campaign {run.campaign_id}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


def unread(campaign_id: int) -> QuerySet[Run]:
    """Its runs with recipients that the memory has not, or not all of."""
    there = Run.objects.filter(campaign=campaign_id, planned__isnull=False, forgotten_at=None)
    return there.filter(Q(finished_at=None) | LACKING)


# Looked up in its index for each person, whatever PostgreSQL thinks of the table: it has been
# analyzed when it was empty, and then a join reads all of it for each of a million.
REMEMBERED = """COALESCE((
    SELECT had.run_id <> %s FROM campaigns_had had
    WHERE had.contact_id = c.id AND had.campaign_id = %s LIMIT 1
), FALSE)"""
# Of a run that is not read yet. Whoever has no delivery still waits for it.
READ_OFF = """EXISTS (
    SELECT FROM campaigns_recipient had LEFT JOIN campaigns_delivery got
        ON got.run_id = had.run_id AND got.seq = had.seq
    WHERE had.run_id = %s AND had.contact_id = c.id
        AND COALESCE(got.status IN ('accepted', 'unknown'), TRUE)
)"""


def any_of(campaign_id: int, *, besides: int = 0) -> list[tuple[str, list[Any]]]:
    """Conditions of which one holds of the people `c` who had it, by what is known now: by all of
    its runs but one."""
    runs = unread(campaign_id).exclude(pk=besides).values_list("pk", flat=True)
    return [(REMEMBERED, [besides, campaign_id]), *((READ_OFF, [pk]) for pk in runs)]


def none_of(campaign_id: int, *, besides: int = 0) -> tuple[str, list[Any]]:
    """Of the people `c`, who has not had it. Each condition for itself: then PostgreSQL joins, and
    does not look for one person at a time."""
    got = any_of(campaign_id, besides=besides)
    return " AND ".join(f"NOT {one}" for one, _ in got), [
        value for _, each in got for value in each
    ]


def run_that_brought_it(campaign_id: int, contact_id: int) -> Run | None:
    found = Had.objects.filter(contact_id=contact_id, campaign_id=campaign_id).first()
    return Run.objects.filter(pk=found.run_id).first() if found else None


def lost_until(campaign_id: int) -> datetime | None:
    """Who had it in a run that began then or earlier is not known any more; None: all is known."""
    began = Run.objects.filter(campaign=campaign_id, started_at__isnull=False)
    lost = began.filter(LACKING, forgotten_at__isnull=False)
    return lost.order_by("-started_at").values_list("started_at", flat=True).first()


def forget(contact_ids: Sequence[int]) -> None:
    """With who is erased."""
    Had.objects.filter(contact_id__in=contact_ids).delete()


@section("had")
def _what_they_had(contact: Contact) -> Iterator[dict[str, Any]]:
    theirs = Had.objects.filter(contact_id=contact.pk).order_by("campaign_id")
    return ({"campaign": one.campaign_id, "run": one.run_id} for one in theirs.iterator())
