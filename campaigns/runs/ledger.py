"""The ledger's rows: who was in the snapshot, what was about to leave, what was said to it, what
became of each one.

Recipient and Delivery are partitioned by run, so dropping an old one is instant. A recipient is
never changed; a delivery is appended, and “who has no outcome yet” is an anti-join. Only
`unknowns.py` takes a delivery back or relabels it, and only a retry, of which there are few, is
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
    """Who is number `seq` of this run? Written once by the snapshot."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    # No foreign keys: a person can be erased while a run that planned for them goes on.
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    contact_id = models.BigIntegerField()
    device_id = models.BigIntegerField()
    # The number of the message it is of, in a run of messages.
    message = models.BigIntegerField(null=True)
    # The group of the person, see `variants/group.py`; empty where the run was not split.
    variant = models.SmallIntegerField(null=True)
    # As they were then: the result is cut by these, also when the device or the person is gone.
    platform = models.CharField(max_length=7, null=True)  # noqa: DJ001
    locale = models.CharField(max_length=35, null=True)  # noqa: DJ001
    timezone = models.CharField(max_length=64, null=True)  # noqa: DJ001
    app_version = models.CharField(max_length=50, null=True)  # noqa: DJ001
    # The hour of the day at which the person gets it; so many messages they had opened in it, and
    # in all. Empty where they have none, or the run does not go by it. See `best_hour/opens.py`.
    best_hour = models.SmallIntegerField(null=True)
    opened_then = models.SmallIntegerField(null=True)
    opened = models.SmallIntegerField(null=True)

    def __str__(self) -> str:
        return f"recipient {self.seq} of run {self.run_id}"


class Delivery(models.Model):
    """What finally happened to this recipient?"""

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
    # A request for it had left before, without a known end: the phone may have got two.
    resent = models.BooleanField(default=False)
    at = models.DateTimeField()
    # Of the run's text: what left for them last, or would have.
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
    """Which requests were about to leave? Committed before the first of them does.

    Left unsettled by a worker that died, it names the recipients whose outcome is ambiguous; it
    stays so, as evidence.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE)
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="windows")
    attempt = models.PositiveIntegerField()
    # Of the run's text: what its requests say.
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
    """Which recipient waits for another try, until when, and why?"""

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="retries")
    seq = models.IntegerField()
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="retries")
    tries = models.PositiveSmallIntegerField()
    first_tried_at = models.DateTimeField(default=timezone.now)
    not_before = models.DateTimeField()
    reason = models.CharField(max_length=20, choices=Reason)
    # An earlier request left and was never answered: whatever comes of it, it may be the second.
    ambiguous = models.BooleanField(default=False)
    # How many such requests.
    copies = models.PositiveSmallIntegerField(default=0, db_default=0)
    # The chunk's fence when a person said “send again” though the outcome was unknown.
    released = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name_plural = _("retries")

    def __str__(self) -> str:
        return f"retry {self.tries} of {self.seq} of run {self.run_id}"


MOST_ANSWERS = 20  # kept of anybody in a run: an outage of days must not fill the disk


class Answer(models.Model):
    """What was said to one request that FCM did not accept?

    An acceptance is the delivery itself. Nobody is asked for twice under one fence, so this is one
    row for each request. Rows are added and never changed; of anybody the first MOST_ANSWERS are
    kept. What came last stands in the delivery, or in the retry.
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
        # To be erased, and told, with the person.
        indexes = [models.Index(fields=["contact_id"], name="answers_of_person")]

    def __str__(self) -> str:
        return f"{self.http} {self.reason} ({self.seq} of run {self.run_id})"


MOST_COPIES = 3  # requests that may have arrived, for anybody, ever


def copies(of: str = "") -> str:
    """Those of a retry, in SQL.

    Of a table by that name; without one, of whichever the statement is about.
    """
    of = of and f"{of}."
    return f"CASE WHEN {of}ambiguous THEN greatest(1, {of}copies) ELSE 0 END"


def partition(table: str, run_id: int) -> str:
    """The name of a run's own part of a table."""
    return f"{table}_run_{int(run_id)}"


def detached_partition(table: str, run_id: int) -> None:
    """A run's own part of a table, filled before anyone else can see it.

    CREATE … PARTITION OF would lock the whole table until the snapshot commits. Without an index: a
    million rows are written twice as fast, and an index made over them then takes a third of it.
    """
    name = partition(table, run_id)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES)")


def refuse_twice(table: str, run_id: int) -> None:
    """One run, one device, one row. Parts that follow the devices' ids append to this index."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE UNIQUE INDEX ON {partition(table, run_id)} (device_id)")


PERSON_INDEX = "campaigns_recipient_of_person_"  # and the run's number


def index_people(table: str, run_id: int) -> None:
    """Where is somebody in the run? Numbered by device, their rows may lie far apart.

    Made once it is whole: 0.3 s for a million people, against 2 s when each part adds its own.
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
    """A run's part of a table at once, whatever its size."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {partition(table, run_id)}")
