"""Goal: the event that people should cause after a push, and the models that count it.

An event counts for the last run with this goal that its person opened (or received) before it, if
the event came within the time that the goal allows. So it counts for one run only. The order in
which events and receipts arrive does not matter: `converting.py` handles both.
"""

from __future__ import annotations

from contextlib import suppress

from django.db import models

from campaigns.engagement.receipt import Event
from campaigns.runs.run import Run
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 0.3
STEP_OF = {Run.GoalAfter.RECEIVED: Event.RECEIVED, Run.GoalAfter.OPENED: Event.OPENED}
# A phone that reports anything about a message has received it. Audience rules say the same.
TOLD_BY = {Run.GoalAfter.RECEIVED: tuple(Event), Run.GoalAfter.OPENED: (Event.OPENED,)}


class Touch(models.Model):
    """When a recipient opened (or received) a run that has a goal.

    The phone's time counts if it is plausible: not before the run began, nor after the report
    arrived. A receipt may wait on an offline phone, and a purchase meanwhile came after it. Of
    several reports, the earliest time counts, in whatever order they arrive.
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
    """An event that counts for a recipient of a run.

    Events have no id: person, time and content identify one. An event that is sent again is the
    same event.
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
    """How many counted events have no value to add up; 0 if the query takes too long."""
    if not run.goal_value:
        return 0
    with suppress(TooSlow), statement_timeout(seconds=COUNTING_SECONDS):
        return Conversion.objects.filter(run_id=run.pk, value=None).count()
    return 0


class GoalSum(models.Model):
    """How many recipients of a run reached its goal, how often, and for what total value.

    It changes in the transaction that keeps the events or receipts, so it is exact at any time.
    """

    class By(models.TextChoices):
        ALL = ""
        PLATFORM = "platform"
        LOCALE = "locale"
        TIMEZONE = "timezone"
        APP_VERSION = "app_version"
        VARIANT = "variant"  # the group, in runs that are split
        AFTER = "after"  # which ten minutes since the run began, by each event's own time

    pk = models.CompositePrimaryKey("run_id", "by", "value")
    run_id = models.BigIntegerField()
    by = models.CharField(max_length=11, choices=By, blank=True)
    value = models.CharField(max_length=64, blank=True)
    recipients = models.IntegerField()  # not counted for AFTER: a person may do it again later
    times = models.IntegerField()
    amount = models.DecimalField(max_digits=38, decimal_places=6)

    def __str__(self) -> str:
        return f"{self.times} of run {self.run_id}"
