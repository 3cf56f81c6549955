"""Trigger: an event that an automation answers, and what was decided about it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from campaigns.runs.messages.message import id_of
from campaigns.triggers.automation import Automation


class NotSent(models.TextChoices):
    """Why an event led to no message: all reasons there are."""

    UNLESS_CAME = "unless_came", _("The other event came meanwhile")
    WITHIN_WINDOW = "within_window", _("Already sent to this person within the time")
    PAUSED = "paused", _("The automation was paused")
    ENDED = "ended", _("The automation was archived")
    PERSON_GONE = "person_gone", _("The person was erased")
    TOO_OLD = "too_old", _("The event came too late to be answered")


class Trigger(models.Model):
    """An event that an automation answers, and the decision about it."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        SENT = "sent", _("Sent")
        NOT_SENT = "not_sent", _("Not sent")

    # Only drafts are deleted, and drafts have no triggers.
    automation = models.ForeignKey(
        Automation, on_delete=models.CASCADE, related_name="triggers", db_index=False
    )
    # No foreign key, as with events: PostgreSQL deletes them with the person (see the migration).
    contact_id = models.BigIntegerField()
    happened_at = models.DateTimeField()
    due_at = models.DateTimeField()
    state = models.CharField(max_length=8, choices=State)
    reason = models.CharField(max_length=13, choices=NotSent, blank=True)
    properties = models.JSONField(default=dict)  # of the event, for the text; empty once decided
    created_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True)
    # The run and number of the message.
    run_id = models.BigIntegerField(null=True)
    number = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "sent", "not_sent"]),
                name="a_trigger_state_we_know",
            ),
            models.CheckConstraint(
                condition=(Q(state="not_sent") & Q(reason__in=NotSent.values))
                | (~Q(state="not_sent") & Q(reason="")),
                name="not_sent_has_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(state="sent", number__isnull=False, run_id__isnull=False)
                | (~Q(state="sent") & Q(number=None)),
                name="sent_has_a_message",
            ),
            models.CheckConstraint(
                condition=Q(state="waiting") ^ Q(decided_at__isnull=False),
                name="decided_at_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="waiting_triggers"),
            models.Index(fields=["automation", "state", "reason", "id"], name="triggers_to_count"),
            models.Index(fields=["contact_id"], name="triggers_of_contact"),
        ]

    def __str__(self) -> str:
        return f"trigger {self.pk}"

    @property
    def message(self) -> str:
        """The message's id; empty if nothing was sent."""
        return id_of(self.run_id, self.number) if self.run_id and self.number else ""


class LastSent(models.Model):
    """When an automation last sent to a person.

    The row lets only one of two concurrent workers send. It outlives the triggers, which are
    deleted with the events.
    """

    automation = models.ForeignKey(
        Automation, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    contact_id = models.BigIntegerField()
    sent_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["contact_id", "automation"], name="one_last_time_a_person"
            )
        ]

    def __str__(self) -> str:
        return f"automation {self.automation_id} to {self.contact_id}"
