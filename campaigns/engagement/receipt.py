"""Receipt: one thing that became of one push, as its phone reports it. There is never a second."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

REFERENCE = re.compile(r"(\d{1,18}):(\d{1,9})")


class Event(models.IntegerChoices):
    """Each is counted by itself. The first three are steps, in their order: an app that tells of
    one is taken to tell of the later ones; who tells what is opened may not know what arrived."""

    RECEIVED = 1, _("Received")
    DISPLAYED = 2, _("Displayed")
    OPENED = 3, _("Opened")
    DISMISSED = 4, _("Dismissed")
    ACTION_1 = 11, _("Button 1")
    ACTION_2 = 12, _("Button 2")
    ACTION_3 = 13, _("Button 3")


STEPS = (Event.RECEIVED, Event.DISPLAYED, Event.OPENED)
BY_NAME = {event.name.lower(): event for event in Event}
NAMES = {event.value: name for name, event in BY_NAME.items()}


class Receipt(models.Model):
    """What became of number `seq` of this run, and when did we hear of it?"""

    pk = models.CompositePrimaryKey("run_id", "seq", "event")
    # No foreign keys, as a recipient has none.
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    event = models.SmallIntegerField(choices=Event)
    at = models.DateTimeField(db_default=Now())
    # By the phone's clock, which may be years off: only a goal goes by it, and only where it can be
    # right.
    phone_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{Event(self.event).label} ({self.seq} of run {self.run_id})"


def furthest(recipients: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Event]:
    """The last step that the phones of these numbers of runs reported: one statement."""
    runs, seqs = [*zip(*recipients, strict=True)] or ((), ())
    params = {"runs": [*runs], "seqs": [*seqs], "steps": [*map(int, STEPS)]}
    with connection.cursor() as cursor:
        cursor.execute(FURTHEST, params)
        return {(run, seq): Event(event) for run, seq, event in cursor.fetchall()}


FURTHEST = """
SELECT t.run_id, t.seq, max(t.event)
FROM unnest(%(runs)s::bigint[], %(seqs)s::int[]) AS asked (run_id, seq)
JOIN campaigns_receipt t USING (run_id, seq)
WHERE t.event = ANY(%(steps)s::int[]) GROUP BY 1, 2
"""


class EchoSum(models.Model):
    """How many receipts of a run are of one event, and of one kind of recipient or moment?

    Moved in the transaction that keeps the receipts, so it is exact at any time.
    """

    class By(models.TextChoices):
        ALL = ""
        PLATFORM = "platform"
        LOCALE = "locale"
        TIMEZONE = "timezone"
        APP_VERSION = "app_version"
        VARIANT = "variant"  # the group, in runs that are split
        AFTER = "after"  # so many times ten minutes since the run began

    pk = models.CompositePrimaryKey("run_id", "by", "value", "event")
    run_id = models.BigIntegerField()
    by = models.CharField(max_length=11, choices=By, blank=True)
    value = models.CharField(max_length=64, blank=True)
    event = models.SmallIntegerField(choices=Event)
    count = models.IntegerField()
    # Recipients whose device is known by this step to tell, and was not when the run began; less
    # those who were known by it, and told of an earlier one since.
    first = models.IntegerField(db_default=0)

    def __str__(self) -> str:
        return f"{self.count} of run {self.run_id}"


class Reporter(models.Model):
    """Since when does this device report such events?

    A rate is told of these devices only: of the others nobody knows whether they opened anything.
    """

    pk = models.CompositePrimaryKey("device_id", "event")
    device_id = models.BigIntegerField()
    event = models.SmallIntegerField(choices=Event)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"device {self.device_id}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a phone says, and may say: its id was signed by us."""

    run_id: int
    seq: int
    event: int
    phone_at: datetime | None

    @classmethod
    def of(cls, reference: str, event: int, phone_at: datetime | None) -> Report | None:
        """None: the reference is of nothing that was sent."""
        found = REFERENCE.fullmatch(reference)
        return cls(int(found[1]), int(found[2]), event, phone_at) if found else None
