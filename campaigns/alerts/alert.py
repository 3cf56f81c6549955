"""Alert: something that is wrong now and that a person should know of. It is told when it is
raised and each hour until somebody has seen it, and once more when it has ended."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run
from notifications.people.project import OfProject


class Kind(models.TextChoices):
    """The closed list; `watching.py` has a look for each."""

    PAUSED = "paused", _("Paused, needs a person")
    STUCK = "stuck", _("Stuck")
    SLOW = "slow", _("Too slow to finish in time")
    REJECTED = "rejected", _("Unusually many rejected")
    DEAD_ADDRESSES = "dead_addresses", _("More dead addresses than usual")
    QUOTA = "quota", _("FCM quota nearly used up")
    UNOPENED = "unopened", _("Opened by nobody")


class Alert(OfProject):
    """What is wrong, since when, and does anybody know?"""

    kind = models.CharField(max_length=20, choices=Kind)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="alerts")
    # What was measured, of which words are made in each reader's language.
    numbers = models.JSONField(default=dict)
    raised_at = models.DateTimeField()
    held_at = models.DateTimeField()  # when it was last found to be so
    told_at = models.DateTimeField(null=True)  # the last time; null: nobody wanted to hear
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

    def acknowledge(self, *, by: str, now: datetime) -> bool:
        """Somebody has seen it: no more reminders. Whether that is news; one guarded UPDATE."""
        standing = Alert.objects.filter(pk=self.pk, ended_at=None, acknowledged_at=None)
        done = standing.update(acknowledged_at=now, acknowledged_by=by)
        self.refresh_from_db()
        return bool(done)

    def take_back(self) -> bool:
        """It was not seen after all: reminders go on. Whether that is news."""
        quiet = Alert.objects.filter(pk=self.pk, ended_at=None, acknowledged_at__isnull=False)
        done = quiet.update(acknowledged_at=None, acknowledged_by="")
        self.refresh_from_db()
        return bool(done)


def open_alerts() -> models.QuerySet[Alert]:
    return Alert.objects.filter(ended_at=None)


def unseen() -> models.QuerySet[Alert]:
    return open_alerts().filter(acknowledged_at=None)
