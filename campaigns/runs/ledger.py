"""Ledger: the rows of a run's recipients, requests in flight, answers, retries and deliveries.

Recipient and Delivery are partitioned by run, so an old run's rows are dropped at once. A
recipient is never changed. A delivery is appended, and “who has no outcome yet” is an anti-join.
Only `unknowns.py` takes a delivery back or relabels it. Only retries, of which there are few, are
rewritten.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from campaigns.runs.chunk import Chunk
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run


class Recipient(models.Model):
    """Recipient number `seq` of a run: a person and their device. Written once by the snapshot."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    # No foreign keys: a person can be erased while a run that planned for them goes on.
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    contact_id = models.BigIntegerField()
    device_id = models.BigIntegerField()
    # The number of its message, in a run of messages.
    message = models.BigIntegerField(null=True)
    # The group of the person, see `variants/group.py`; empty if the run was not split.
    variant = models.SmallIntegerField(null=True)
    # As they were then: results are broken down by these, even if the device or person is gone.
    platform = models.CharField(max_length=7, null=True)  # noqa: DJ001
    locale = models.CharField(max_length=35, null=True)  # noqa: DJ001
    timezone = models.CharField(max_length=64, null=True)  # noqa: DJ001
    app_version = models.CharField(max_length=50, null=True)  # noqa: DJ001
    # The person's best hour of the day, how many messages they had opened in it, and in all. Empty
    # if they have none, or the run is not sent at best hours. See `best_hour.py`.
    best_hour = models.SmallIntegerField(null=True)
    opened_then = models.SmallIntegerField(null=True)
    opened = models.SmallIntegerField(null=True)

    def __str__(self) -> str:
        return f"recipient {self.seq} of run {self.run_id}"


class Delivery(models.Model):
    """The final outcome of a recipient."""

    class Status(models.TextChoices):
        ACCEPTED = "accepted", _("Accepted")
        REJECTED = "rejected", _("Rejected")
        SKIPPED = "skipped", _("Skipped")
        UNKNOWN = "unknown", _("Unknown")

    pk = models.CompositePrimaryKey("run_id", "seq")
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    device_id = models.BigIntegerField()
    status = models.CharField(max_length=8, choices=Status)
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    detail = models.CharField(max_length=200, blank=True)
    message_id = models.CharField(max_length=200, blank=True)
    attempt = models.IntegerField(help_text=_("The chunk's fence it was written under."))
    # An earlier request had left, without a known outcome: the phone may have got two.
    resent = models.BooleanField(default=False)
    at = models.DateTimeField()
    # The revision of the run's text that left for them last, or would have.
    revision = models.SmallIntegerField(default=1, db_default=1)

    class Meta:
        verbose_name_plural = _("deliveries")
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["accepted", "rejected", "skipped", "unknown"]),
                name="a_delivery_status_we_know",
            ),
            models.CheckConstraint(
                condition=Q(status="accepted", reason="") | (~Q(status="accepted") & ~Q(reason="")),
                name="only_accepted_needs_no_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.reason} ({self.seq} of run {self.run_id})"


class Window(models.Model):
    """Requests that were about to leave. Committed before the first of them does.

    If a worker dies, its unsettled window names the recipients whose outcome is ambiguous. It
    stays unsettled, as evidence.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE)
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="windows")
    attempt = models.PositiveIntegerField()
    # The revision of the run's text that its requests carry.
    revision = models.SmallIntegerField(default=1, db_default=1)
    seqs = ArrayField(models.IntegerField())
    opened_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(settled_at__isnull=True) | Q(settled_at__gte=F("opened_at")),
                name="a_window_settles_after_it_opens",
            )
        ]
        indexes = [
            models.Index(
                fields=["chunk"], condition=Q(settled_at__isnull=True), name="unsettled_windows"
            )
        ]

    def __str__(self) -> str:
        return f"window of {len(self.seqs)} in chunk {self.chunk_id}"


class Retry(models.Model):
    """A recipient that waits for another try, with the reason and the earliest time."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="retries")
    seq = models.IntegerField()
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="retries")
    tries = models.PositiveSmallIntegerField()
    first_tried_at = models.DateTimeField(default=timezone.now)
    not_before = models.DateTimeField()
    reason = models.CharField(max_length=20, choices=Reason)
    # An earlier request left and was never answered: the next one may be a second copy.
    ambiguous = models.BooleanField(default=False)
    # The number of requests without an answer.
    copies = models.PositiveSmallIntegerField(default=0, db_default=0)
    # The chunk's fence when a person chose “send again” although the outcome was unknown.
    released = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name_plural = _("retries")

    def __str__(self) -> str:
        return f"retry {self.tries} of {self.seq} of run {self.run_id}"


MAX_ANSWERS = 20  # kept for each recipient: an outage of days must not fill the disk


class Answer(models.Model):
    """The answer to one request that FCM did not accept.

    An acceptance is the delivery itself. Each recipient gets at most one request under one fence,
    so this is one row for each request. Rows are added and never changed. For each recipient, the
    first MAX_ANSWERS are kept. The delivery or the retry has the last answer.
    """

    pk = models.CompositePrimaryKey("run_id", "seq", "attempt")
    # No foreign keys, as a recipient has none.
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    attempt = models.IntegerField(help_text=_("The chunk's fence it was written under."))
    contact_id = models.BigIntegerField()
    at = models.DateTimeField()
    http = models.SmallIntegerField(help_text=_("Its status; 0 where no answer came."))
    code = models.CharField(max_length=50, blank=True)  # FCM's name for it
    verdict = models.CharField(max_length=20)
    reason = models.CharField(max_length=20)
    may_have_arrived = models.BooleanField()
    detail = models.CharField(max_length=200, blank=True)

    class Meta:
        # To export and erase them with the person.
        indexes = [models.Index(fields=["contact_id"], name="answers_of_person")]

    def __str__(self) -> str:
        return f"{self.http} {self.reason} ({self.seq} of run {self.run_id})"


MAX_COPIES = 3  # requests that may have arrived, for one recipient, ever


def copies(of: str = "") -> str:
    """SQL for the number of requests of a retry that may have arrived.

    `of` is the name of the retry's table; without it, the columns stand without a prefix.
    """
    of = of and f"{of}."
    return f"CASE WHEN {of}ambiguous THEN greatest(1, {of}copies) ELSE 0 END"


def partition(table: str, run_id: int) -> str:
    """The name of a run's partition of a table."""
    return f"{table}_run_{int(run_id)}"


def detached_partition(table: str, run_id: int) -> None:
    """Create a run's partition of a table, detached: it is filled before other sessions see it.

    CREATE … PARTITION OF would lock the whole table until the snapshot commits. It has no index:
    a million rows are written twice as fast, and creating the index afterwards takes a third of
    that time.
    """
    name = partition(table, run_id)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES)")


def refuse_twice(table: str, run_id: int) -> None:
    """Allow one row for each device of a run. Parts that are written in the order of device ids
    append to this index."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE UNIQUE INDEX ON {partition(table, run_id)} (device_id)")


PERSON_INDEX = "campaigns_recipient_of_person_"  # and the run's number


def index_people(table: str, run_id: int) -> None:
    """Index a run's partition by person. Recipients are numbered by device, so a person's rows may
    lie far apart.

    Created when the partition is complete: 0.3 s for a million people, against 2 s if each part
    adds its own rows.
    """
    with connection.cursor() as cursor:
        name = f"{PERSON_INDEX}{int(run_id)}"
        cursor.execute(f"CREATE INDEX {name} ON {partition(table, run_id)} (contact_id)")


def attach_partition(table: str, run_id: int) -> None:
    name = partition(table, run_id)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (run_id, seq)")
        cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES IN ({int(run_id)})")


def drop_partition(table: str, run_id: int) -> None:
    """Drop a run's partition of a table; instant, whatever its size."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {partition(table, run_id)}")
