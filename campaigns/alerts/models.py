"""Alert: something that is wrong in a project, or was."""

from __future__ import annotations

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from campaigns.runs.run import Run
from notifications.people.project import OfProject
from notifications.staff import audit


class Kind(models.TextChoices):
    """`conditions.py` has a check for each."""

    PAUSED = "paused", _("Paused, needs a person")
    STUCK = "stuck", _("Stuck")
    SLOW = "slow", _("Too slow to finish in time")
    REJECTED = "rejected", _("Unusually many rejected")
    DEAD_ADDRESSES = "dead_addresses", _("More dead addresses than usual")
    QUOTA = "quota", _("FCM quota nearly used up")
    UNOPENED = "unopened", _("Opened by nobody")


class Alert(OfProject):
    """One condition from when it was first found true until it no longer is."""

    kind = models.CharField(max_length=20, choices=Kind)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="alerts")
    # What was measured. Texts are made from it, in each reader's language.
    numbers = models.JSONField(default=dict)
    raised_at = models.DateTimeField()
    held_at = models.DateTimeField()  # when it was last found true
    told_at = models.DateTimeField(null=True)  # last sent to endpoints; null: none wants it
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=200, blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            # Two ticks at once raise it once.
            models.UniqueConstraint(
                fields=["project", "kind", "run"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="one_open_alert_of_a_kind",
            ),
            models.CheckConstraint(
                condition=Q(acknowledged_at__isnull=True, acknowledged_by="")
                | (Q(acknowledged_at__isnull=False) & ~Q(acknowledged_by="")),
                name="an_acknowledged_alert_says_by_whom",
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="alerts_of_project")]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def is_open(self) -> bool:
        return self.ended_at is None

    def acknowledge(self, *, by: str) -> None:
        """Stop reminders. Changes nothing if it was acknowledged before, or has ended."""
        with transaction.atomic():
            if (
                unacknowledged_alerts()
                .filter(pk=self.pk)
                .update(acknowledged_at=timezone.now(), acknowledged_by=by)
            ):
                self._record(by, gettext_noop("acknowledged"))
        self.refresh_from_db()

    def undo_acknowledgement(self, *, by: str) -> None:
        """Let reminders go on."""
        with transaction.atomic():
            acknowledged = open_alerts().filter(pk=self.pk, acknowledged_at__isnull=False)
            if acknowledged.update(acknowledged_at=None, acknowledged_by=""):
                self._record(by, gettext_noop("took back having seen"))
        self.refresh_from_db()

    def _record(self, by: str, action: str) -> None:
        audit.record(by, action, self, project=self.project, kind=self.kind, run=self.run_id)


def open_alerts() -> models.QuerySet[Alert]:
    return Alert.objects.filter(ended_at=None)


def unacknowledged_alerts() -> models.QuerySet[Alert]:
    return open_alerts().filter(acknowledged_at=None)
