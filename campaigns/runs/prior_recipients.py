"""Prior recipients: who got a campaign in one of its runs, or may have (accepted or unknown).

For campaigns that send once per person. A finished run is indexed here, in steps, before its
recipients can be removed. Until then its own rows are read: a person who still waits in a running
run counts as a prior recipient, so two runs of a campaign never send to the same person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.contact import Contact

RECEIVED = (Delivery.Status.ACCEPTED, Delivery.Status.UNKNOWN)
RECIPIENTS_AT_ONCE = 50_000  # indexed in one step


class PriorRecipient(models.Model):
    """A person who got a campaign, and the first run that sent it to them."""

    pk = models.CompositePrimaryKey("contact_id", "campaign_id")
    contact_id = models.BigIntegerField()
    campaign_id = models.BigIntegerField()
    run_id = models.BigIntegerField()

    class Meta:
        db_table = "campaigns_had"

    def __str__(self) -> str:
        return f"person {self.contact_id} got campaign {self.campaign_id} in run {self.run_id}"


class IndexedRun(models.Model):
    """How much of a run is indexed."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="indexed"
    )
    # The run's end when it was read: a run that was reopened since is read again.
    finished_at = models.DateTimeField()
    through = models.IntegerField(default=0)  # the seq of the last recipient

    class Meta:
        db_table = "campaigns_remembered"

    def __str__(self) -> str:
        return f"run {self.run_id} is indexed through {self.through}"


NOT_INDEXED = (
    Q(indexed=None)
    | Q(indexed__through__lt=F("planned"))
    | ~Q(indexed__finished_at=F("finished_at"))
)


# --- Who got a campaign ---------------------------------------------------------------------------

# A subquery, so that PostgreSQL looks each person up in the index. After an ANALYZE of the empty
# table, a join would read all of it for each of a million people.
IS_INDEXED = """COALESCE((
    SELECT prior.run_id <> %s FROM campaigns_had prior
    WHERE prior.contact_id = c.id AND prior.campaign_id = %s LIMIT 1
), FALSE)"""
# For a run that is not indexed yet. A recipient without a delivery is still waiting.
IS_IN_RUN = """EXISTS (
    SELECT FROM campaigns_recipient prior LEFT JOIN campaigns_delivery got
        ON got.run_id = prior.run_id AND got.seq = prior.seq
    WHERE prior.run_id = %s AND prior.contact_id = c.id
        AND COALESCE(got.status IN ('accepted', 'unknown'), TRUE)
)"""


def received(campaign_id: int, *, except_run: int = 0) -> list[tuple[str, list[Any]]]:
    """Conditions on the people `c`; one of them holds for each prior recipient of the campaign, in
    any of its runs but one."""
    runs = _runs_to_read(campaign_id).exclude(pk=except_run).values_list("pk", flat=True)
    return [(IS_INDEXED, [except_run, campaign_id]), *((IS_IN_RUN, [pk]) for pk in runs)]


def not_received(campaign_id: int, *, except_run: int = 0) -> tuple[str, list[Any]]:
    """A condition on the people `c` that are no prior recipients. Its parts are joined by AND, so
    that PostgreSQL can use joins and need not look up one person at a time."""
    conditions = received(campaign_id, except_run=except_run)
    sql = " AND ".join(f"NOT {condition}" for condition, _ in conditions)
    return sql, [value for _, values in conditions for value in values]


def _runs_to_read(campaign_id: int) -> QuerySet[Run]:
    """The runs of a campaign whose own rows say who got it: not indexed, or not completely."""
    existing = Run.objects.filter(campaign=campaign_id, planned__isnull=False, forgotten_at=None)
    return existing.filter(Q(finished_at=None) | NOT_INDEXED)


def first_run(campaign_id: int, contact_id: int) -> Run | None:
    """The run in which this person first got the campaign; None: no indexed run sent it to them."""
    prior = PriorRecipient.objects.filter(contact_id=contact_id, campaign_id=campaign_id).first()
    return Run.objects.filter(pk=prior.run_id).first() if prior else None


def unknown_until(campaign_id: int) -> datetime | None:
    """The last start of a run whose recipients were removed before it was indexed. It is unknown
    who got the runs until then. None: all recipients are known."""
    started = Run.objects.filter(campaign=campaign_id, started_at__isnull=False)
    lost = started.filter(NOT_INDEXED, forgotten_at__isnull=False)
    return lost.order_by("-started_at").values_list("started_at", flat=True).first()


def forget(contact_ids: Sequence[int]) -> None:
    """Remove people who are being erased."""
    PriorRecipient.objects.filter(contact_id__in=contact_ids).delete()


def prior_campaigns_of(contact: Contact) -> Iterator[dict[str, Any]]:
    priors = PriorRecipient.objects.filter(contact_id=contact.pk).order_by("campaign_id")
    return ({"campaign": prior.campaign_id, "run": prior.run_id} for prior in priors.iterator())


# --- One run at a time ----------------------------------------------------------------------------


def lock_campaign(run: Run) -> None:
    """Until the transaction ends, no other run of its campaign chooses recipients or resends."""
    with connection.cursor() as cursor:
        key = f"who had campaign {run.campaign_id}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


def must_wait(run: Run) -> bool:
    """Whether the run's recipients cannot be chosen yet: other runs of its campaign are being
    indexed, choose recipients themselves, or are being cancelled."""
    others = Run.objects.filter(campaign=run.campaign_id, finished_at=None).exclude(pk=run.pk)
    earlier = others.filter(pk__lt=run.pk)
    return (
        runs_to_index_with(run.pk).exists()
        or earlier.filter(state=Run.State.PREPARING).exists()
        or any(other.freezing for other in earlier)
        or others.filter(state=Run.State.CANCELLED).exists()
    )


def later_run_started(run: Run) -> bool:
    """Whether a later run of its campaign, sent once per person, has started."""
    later = Run.objects.filter(campaign=run.campaign_id, once_each=True, pk__gt=run.pk)
    return later.filter(Q(started_at__isnull=False) | Q(state=Run.State.PREPARING)).exists()


# --- Indexing finished runs -----------------------------------------------------------------------


def _sends_once_per_person() -> Q:
    """Runs of campaigns that send once per person: now, or when a run was launched whose recipients
    are still kept."""
    launched = Run.objects.filter(campaign=OuterRef("campaign"), once_each=True, forgotten_at=None)
    began = launched.exclude(state=Run.State.CANCELLED, planned=None)
    return Q(campaign__once_each=True) | Q(Exists(began))


def runs_to_index() -> QuerySet[Run]:
    """Finished runs that are not completely indexed, oldest first."""
    ended = Run.objects.filter(finished_at__isnull=False, planned__isnull=False, forgotten_at=None)
    return ended.filter(NOT_INDEXED).filter(_sends_once_per_person()).order_by("pk")


def runs_to_index_with(run_id: int) -> QuerySet[Run]:
    """Finished runs of the same campaign that are not completely indexed, oldest first."""
    campaign = Run.driven.filter(pk=run_id).values("campaign")
    return runs_to_index().filter(campaign__in=campaign)


def index_next(run_id: int) -> None:
    """Index the next recipients of one of its campaign's runs, unless another process does.

    If the process dies here: the step is rolled back, and the next call does it.
    """
    if not runs_to_index_with(run_id).exists():
        return
    with transaction.atomic():
        run = runs_to_index_with(run_id).first()
        if run and _lock_index(run.campaign_id):
            _index_next(run)


def has_more(run_id: int) -> bool:
    """Whether there is more to index, and no other process is indexing."""
    run = runs_to_index_with(run_id).first()
    return run is not None and _lock_index(run.campaign_id)


def index_whole(run: Run) -> None:
    """Index all of a run whose recipients are about to be removed, in the same transaction."""
    while unindexed := runs_to_index().filter(pk=run.pk).first():
        _index_next(unindexed)


def _lock_index(campaign_id: int | None) -> bool:
    """Try to take the lock until the transaction ends. Returns whether it is ours."""
    with connection.cursor() as cursor:
        key = f"remembering who had campaign {campaign_id}"
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        locked: bool = cursor.fetchone()[0]
    return locked


# FOR KEY SHARE waits for people who are being erased, and then leaves them out.
INDEX = """
INSERT INTO campaigns_had (contact_id, campaign_id, run_id)
SELECT id, %(campaign)s, %(run)s FROM (
    SELECT c.id FROM notifications_contact c
    WHERE c.id IN (
        SELECT r.contact_id FROM campaigns_recipient r
        JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq
        WHERE r.run_id = %(run)s AND r.seq > %(after)s AND r.seq <= %(through)s
            AND x.run_id = %(run)s AND x.seq > %(after)s AND x.seq <= %(through)s
            AND x.status = ANY(%(received)s)
    )
    ORDER BY c.external_id FOR KEY SHARE
) there
ON CONFLICT DO NOTHING
"""


def _index_next(run: Run) -> None:
    indexed = IndexedRun.objects.filter(pk=run.pk).first()
    if indexed is None or indexed.finished_at != run.finished_at:
        assert run.finished_at
        indexed = IndexedRun(run=run, finished_at=run.finished_at)
    through = min(indexed.through + RECIPIENTS_AT_ONCE, run.planned or 0)
    values = {"campaign": run.campaign_id, "run": run.pk, "received": [*map(str, RECEIVED)]}
    with connection.cursor() as cursor:
        cursor.execute(INDEX, {**values, "after": indexed.through, "through": through})
    indexed.through = through
    indexed.save()


def remove_unused() -> None:
    """Remove the index of campaigns that no longer send once per person, after the recipients of
    all runs that did are removed."""
    unused = Run.objects.filter(indexed__isnull=False).exclude(_sends_once_per_person())
    for campaign_id in set(unused.values_list("campaign_id", flat=True)):
        with transaction.atomic():
            PriorRecipient.objects.filter(campaign_id=campaign_id).delete()
            IndexedRun.objects.filter(run__campaign=campaign_id).delete()
