"""Receipt: what a phone reports about one push. There is at most one per event."""

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
    """What a phone can report. Each event is counted on its own.

    The first three are steps in this order. An app that reports one is assumed to report the later
    ones too; an app that reports opens may not know what it received.
    """

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
    """What the phone of recipient `seq` of a run reported, and when the report arrived."""

    pk = models.CompositePrimaryKey("run_id", "seq", "event")
    # No foreign keys, as a recipient has none.
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    event = models.SmallIntegerField(choices=Event)
    at = models.DateTimeField(db_default=Now())
    # By the phone's clock, which may be years off: used only where it is plausible.
    phone_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{Event(self.event).label} ({self.seq} of run {self.run_id})"


def furthest(recipients: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Event]:
    """The last step reported for each of these (run, seq) recipients. One SQL query."""
    runs, seqs = [*zip(*recipients, strict=True)] or ((), ())
    params = {"runs": [*runs], "seqs": [*seqs], "steps": [*map(int, STEPS)]}
    with connection.cursor() as cursor:
        cursor.execute(FURTHEST, params)
        return {(run, seq): Event(event) for run, seq, event in cursor.fetchall()}


FURTHEST = """
SELECT t.run_id, t.seq, max(t.event)
FROM unnest(%(runs)s::bigint[], %(seqs)s::int[]) AS given (run_id, seq)
JOIN campaigns_receipt t USING (run_id, seq)
WHERE t.event = ANY(%(steps)s::int[]) GROUP BY 1, 2
"""


class EchoSum(models.Model):
    """How many receipts of one event a run has, in total and by platform, language and so on.

    It changes in the transaction that keeps the receipts, so it is exact at any time.
    """

    class By(models.TextChoices):
        ALL = ""
        PLATFORM = "platform"
        LOCALE = "locale"
        TIMEZONE = "timezone"
        APP_VERSION = "app_version"
        VARIANT = "variant"  # the group, in runs that are split
        AFTER = "after"  # which ten minutes since the run began

    pk = models.CompositePrimaryKey("run_id", "by", "value", "event")
    run_id = models.BigIntegerField()
    by = models.CharField(max_length=11, choices=By, blank=True)
    value = models.CharField(max_length=64, blank=True)
    event = models.SmallIntegerField(choices=Event)
    count = models.IntegerField()
    # Recipients whose device is known to report because of this step, and was not known when the
    # run began. Minus those known by this step who have reported an earlier step since.
    first = models.IntegerField(db_default=0)

    def __str__(self) -> str:
        return f"{self.count} of run {self.run_id}"


class Reporter(models.Model):
    """Since when a device reports an event.

    Rates count these devices only: nobody knows whether the others opened anything.
    """

    pk = models.CompositePrimaryKey("device_id", "event")
    device_id = models.BigIntegerField()
    event = models.SmallIntegerField(choices=Event)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"device {self.device_id}"


@dataclass(frozen=True, slots=True)
class Report:
    """A phone's report, before it is stored. It may report this: we signed the message's id."""

    run_id: int
    seq: int
    event: int
    phone_at: datetime | None

    @classmethod
    def parse(cls, reference: str, event: int, phone_at: datetime | None) -> Report | None:
        """Parse a report. None: the reference does not name a recipient of a run."""
        match = REFERENCE.fullmatch(reference)
        return cls(int(match[1]), int(match[2]), event, phone_at) if match else None
