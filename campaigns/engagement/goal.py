"""Goal: what people are meant to do after a push. Who did, when, and of which run it counts.

An event counts for the last run whose goal it is that its person opened (or received) before it, if
that was no longer ago than the run's goal says. So it counts for one run only, and it does not
matter in which order events and receipts arrive: `converting.py` looks at both.
"""

from __future__ import annotations

from contextlib import suppress

from django.db import models

from campaigns.engagement.receipt import Event
from campaigns.runs.run import Run
from notifications.postgres.budget import TooSlow, within

COUNTING_SECONDS = 0.3
STEP_OF = {Run.GoalAfter.RECEIVED: Event.RECEIVED, Run.GoalAfter.OPENED: Event.OPENED}
# A phone that tells anything of a message has received it, as in rules.
TOLD_BY = {Run.GoalAfter.RECEIVED: tuple(Event), Run.GoalAfter.OPENED: (Event.OPENED,)}


class Touch(models.Model):
    """When did this recipient open (or receive) a run that has a goal?

    As the phone says, if that can be: not before the run began, nor after we heard of it. A receipt
    may wait on a phone that is offline, and what was bought meanwhile was bought after it. Of
    several reports that say that it was received, by the earliest, whichever of them comes first.
    """

    pk = models.CompositePrimaryKey("run_id", "seq")
    # No foreign keys, as a recipient has none.
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    contact_id = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "touches"
        indexes = [models.Index(fields=["contact_id", "at"], name="touches_of_person")]

    def __str__(self) -> str:
        return f"touch of {self.seq} of run {self.run_id}"


class Conversion(models.Model):
    """Which event counts for which recipient of a run?

    Events have no number: one is known by its person, its time and what it says. One that is sent
    again is the same.
    """

    pk = models.CompositePrimaryKey("contact_id", "at", "what")
    contact_id = models.BigIntegerField()
    at = models.DateTimeField()
    what = models.UUIDField()  # a fingerprint of its name and properties
    run_id = models.BigIntegerField()
    seq = models.IntegerField()
    value = models.DecimalField(max_digits=24, decimal_places=6, null=True)

    class Meta:
        indexes = [models.Index(fields=["run_id", "seq"], name="conversions_of_recipient")]

    def __str__(self) -> str:
        return f"conversion of {self.seq} of run {self.run_id}"


def without_value(run: Run) -> int:
    """How many of its events count for it and had no number to sum up; 0 where that takes too
    long."""
    if not run.goal_value:
        return 0
    with suppress(TooSlow), within(seconds=COUNTING_SECONDS):
        return Conversion.objects.filter(run_id=run.pk, value=None).count()
    return 0


class GoalSum(models.Model):
    """How many recipients of a run reached its goal, how often, and what was it worth?

    Moved in the transaction that keeps the events, or the receipts: it is exact at any time.
    """

    class By(models.TextChoices):
        ALL = ""
        PLATFORM = "platform"
        LOCALE = "locale"
        TIMEZONE = "timezone"
        APP_VERSION = "app_version"
        VARIANT = "variant"  # the group, in runs that are split
        AFTER = "after"  # so many times ten minutes since the run began: by each event's own time

    pk = models.CompositePrimaryKey("run_id", "by", "value")
    run_id = models.BigIntegerField()
    by = models.CharField(max_length=11, choices=By, blank=True)
    value = models.CharField(max_length=64, blank=True)
    recipients = models.IntegerField()  # not counted by the time: one may do it again later
    times = models.IntegerField()
    amount = models.DecimalField(max_digits=38, decimal_places=6)

    def __str__(self) -> str:
        return f"{self.times} of run {self.run_id}"
