"""Import: one file of people, from first byte to result.

Each change of state is one guarded UPDATE.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.people.importing.reasons import in_words
from notifications.people.project import OfProject

LEASE = timedelta(seconds=settings.LEASE_SECONDS)
COUNTS = ("created", "updated", "unchanged", "moved", "removed", "unknown")


class Import(OfProject):
    """An uploaded file of people, how it is read, and what was done with it.

    `counts`: what was done so far; `foreseen`: what the check expects. The keys of both are COUNTS:
    people created, updated, unchanged, removed and unknown (nobody to remove), and devices that
    moved to another person.
    """

    class State(models.TextChoices):
        UPLOADING = "uploading", _("Uploading")
        READY = "ready", _("Ready")
        CHECKING = "checking", _("Checking")
        CHECKED = "checked", _("Checked")
        MERGING = "merging", _("Importing")
        FINISHED = "finished", _("Finished")
        STOPPED = "stopped", _("Stopped")
        FAILED = "failed", _("Failed")

    class Mode(models.TextChoices):
        ADD = "add", _("Add and update")
        REPLACE = "replace", _("Replace")
        REMOVE = "remove", _("Remove")

    class InvalidMove(Exception):
        """The import's state does not allow the change, or another request was faster."""

    name = models.CharField(max_length=200, help_text=_("The file's name."))
    size = models.BigIntegerField(help_text=_("In bytes, as declared before the upload."))
    state = models.CharField(max_length=9, choices=State, default=State.UPLOADING)
    mode = models.CharField(max_length=7, choices=Mode, default=Mode.ADD)
    # If ticked, a yes without a time overrides an earlier no.
    resubscribe = models.BooleanField(default=False)
    by = models.CharField(max_length=200, help_text=_("user:NAME or carillon."))
    language = models.CharField(max_length=10, default="en")  # of `problem`
    problem = models.CharField(max_length=500, blank=True)  # why it failed
    # What was detected in the file: see sniffing.sniff.
    sniffed = models.JSONField(default=dict, blank=True)
    head_digest = models.CharField(max_length=64, blank=True)
    # What each column means, in their order: see columns.Column.
    mapping = models.JSONField(default=list, blank=True)

    # How far reading is (see working.Reading), and the last person who is done. `ahead`: later
    # parts that are done, too, as {the external id before the part: its last external id}.
    position = models.JSONField(default=dict, blank=True)
    staged_at = models.DateTimeField(null=True, blank=True)
    done_up_to = models.CharField(max_length=200, blank=True)
    ahead = models.JSONField(default=dict, db_default={}, blank=True)
    rows = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0, help_text=_("Rows of a person named again."))
    people = models.BigIntegerField(default=0, help_text=_("Different people in the file."))
    handled = models.BigIntegerField(default=0, help_text=_("People counted or merged so far."))
    foreseen = models.JSONField(default=dict, blank=True)
    counts = models.JSONField(default=dict, blank=True)

    # The lease of a worker: only the worker that knows its number may write.
    lease = models.IntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(problem=""), name="a_failed_import_says_why"
            )
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="import_of_project"),
            models.Index(
                fields=["project", "head_digest", "-id"],
                condition=~Q(head_digest=""),
                name="import_with_this_head",
            ),
            models.Index(
                fields=["state"],
                condition=Q(state__in=["checking", "merging"]),
                name="imports_under_way",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def under_way(self) -> bool:
        return self.state in WORKING

    @property
    def staged(self) -> int:
        """Valid rows. Every row that was read is counted here or as refused."""
        return self.rows - self.refused

    def share(self) -> float:
        """Progress of the running work, 0 to 1: reading is the first half."""
        if self.state in (self.State.CHECKED, self.State.FINISHED):
            return 1.0
        read = self.position.get("read", 0) / self.position["of"] if self.position else 0.0
        if self.staged_at is None:
            return min(read, 1.0) / 2
        return 0.5 + (min(self.handled / self.people, 1.0) / 2 if self.people else 0.5)

    def move(self, states: tuple[str, ...], **values: Any) -> None:
        """Change the import with one guarded UPDATE. Raises InvalidMove.

        A worker that was busy with the import can write no more after it.
        """
        here = Import.objects.filter(pk=self.pk, state__in=states)
        if not here.update(lease=F("lease") + 1, leased_until=None, **values):
            raise self._invalid_move()
        self.refresh_from_db()

    def insist_on(self, states: tuple[str, ...]) -> None:
        """Raises InvalidMove in any other state: the file does not have enough there yet."""
        if self.state not in states:
            raise self._invalid_move()

    def _invalid_move(self) -> Import.InvalidMove:
        self.refresh_from_db()
        text = gettext("The import is %(state)s: that cannot be done now.")
        return Import.InvalidMove(text % {"state": self.get_state_display().lower()})


WORKING = ("checking", "merging")
UNFINISHED = ("uploading", "ready", "checking", "checked", "merging", "stopped")


class ImportPart(models.Model):
    """A part of the file that has arrived, numbered from 0.

    The page sends 512 kB at a time, the command 2 MB; the limit is 8 MB.
    """

    owner = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="parts")
    number = models.IntegerField()
    content = models.BinaryField()
    size = models.IntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "number"], name="one_import_part_per_number"),
            models.CheckConstraint(condition=Q(number__gte=0), name="import_parts_count_from_0"),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.number}"


class ImportBatch(models.Model):
    """The people that one part of the merge touched. The row exists if that part was committed.

    The ids are in an array: for five million people 40 MB, without an index.
    """

    owner = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="batches")
    number = models.IntegerField()
    contact_ids = ArrayField(models.BigIntegerField())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "number"], name="an_import_batch_merged_once")
        ]

    def __str__(self) -> str:
        return f"{self.owner_id}/{self.number}"


class ImportRefusal(models.Model):
    """A refused row and its reason. It keeps the cells, to be corrected and imported again."""

    owner = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="refusals")
    line = models.BigIntegerField()
    column = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=500)  # as reasons.reasons_to_store writes it
    cells = ArrayField(models.TextField())
    file = models.CharField(max_length=200, blank=True)  # in an archive

    class Meta:
        indexes = [models.Index(fields=["owner", "id"], name="refused_rows_of_import")]

    def __str__(self) -> str:
        return f"{self.owner_id}: line {self.line}"

    @property
    def in_words(self) -> str:
        return in_words(self.reason)


class Fenced(Exception):
    """Another worker has taken over the import, or it was stopped: nothing may be written."""


def waiting(now: datetime) -> list[int]:
    """Imports that need work and that no worker is busy with."""
    idle = Q(leased_until=None) | Q(leased_until__lt=now)
    found = Import.objects.filter(idle, state__in=WORKING).order_by("pk")
    return list(found.values_list("pk", flat=True))


def claim(import_id: int, *, now: datetime) -> Import | None:
    """Take the import for the length of a lease; None if there is nothing to do for this worker."""
    idle = Q(leased_until=None) | Q(leased_until__lt=now)
    mine = Import.objects.filter(idle, pk=import_id, state__in=WORKING)
    if not mine.update(lease=F("lease") + 1, leased_until=now + LEASE):
        return None
    return Import.objects.select_related("project").get(pk=import_id)


def keep(one: Import, *, now: datetime, lease: timedelta = LEASE, **values: Any) -> None:
    """Store these values, in the transaction of the work they describe.

    Raises Fenced if the lease belongs to another worker, or if a crash of PostgreSQL undid the
    progress that this worker relies on.
    """
    progress = ("position", "done_up_to", "ahead", "handled")
    stands = {name: getattr(one, name) for name in progress}
    mine = Import.objects.filter(pk=one.pk, lease=one.lease, state=one.state, **stands)
    if not mine.update(leased_until=now + lease, **values):
        raise Fenced
    for name, value in values.items():
        setattr(one, name, value)


def release(one: Import) -> None:
    """Give the lease back, so that the next worker need not wait for its end."""
    Import.objects.filter(pk=one.pk, lease=one.lease).update(leased_until=None)
