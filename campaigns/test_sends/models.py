"""SentTest: a text that was sent to a few devices. DeviceTest: FCM's answer for one of them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from notifications.people.project import OfProject


class SentTest(OfProject):
    """A test send: its text, who sent it, and whose values it was read with."""

    name = models.CharField(max_length=120)  # of the template or the campaign
    content = models.JSONField()  # as a run would freeze it
    category_kind = models.CharField(max_length=13, blank=True)
    category = models.CharField(max_length=50, blank=True)
    ttl_seconds = models.PositiveIntegerField()
    locale = models.CharField(max_length=35, blank=True)  # empty: the contact's
    # No foreign keys, as with recipients: people and devices may go before it does.
    reads_as = models.BigIntegerField(
        null=True
    )  # whose values are used; null: each device's own contact
    by = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "at"], name="tests_of_project")]

    def __str__(self) -> str:
        return self.name

    @property
    def reference(self) -> str:
        """For the pace and logs. Differs from every run's."""
        return f"test-{self.pk}"


class DeviceTest(models.Model):
    """One device of a test send, and FCM's answer."""

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        SENDING = "sending", _("Sending")
        ACCEPTED = "accepted", _("Accepted")
        REJECTED = "rejected", _("Rejected")
        SKIPPED = "skipped", _("Skipped")
        UNKNOWN = "unknown", _("Unknown")

    test = models.ForeignKey(SentTest, on_delete=models.CASCADE, related_name="devices")
    contact_id = models.BigIntegerField(db_index=True)
    device_id = models.BigIntegerField(null=True)  # null: the contact has none
    platform = models.CharField(max_length=7, blank=True)
    status = models.CharField(max_length=8, choices=Status, default=Status.WAITING)
    reason = models.CharField(max_length=50, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    http = models.PositiveSmallIntegerField(default=0)  # 0: no answer came
    code = models.CharField(max_length=50, blank=True)  # what the answer calls itself
    raw = models.TextField(blank=True)  # the answer, word for word
    message_id = models.CharField(max_length=200, blank=True)
    seconds = models.FloatField(null=True)
    at = models.DateTimeField(null=True)  # of the last change

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["waiting", "sending", "accepted", "rejected", "skipped",
                                        "unknown"]),
                name="a_tests_status_we_know",
            ),
        ]  # fmt: skip
        indexes = [
            models.Index(
                fields=["test"],
                condition=Q(status__in=["waiting", "sending"]),
                name="tests_not_ended",
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        return f"test-{self.test_id}:{self.pk}"
