"""Message: what a program sends to one person, and the key by which a second call is recognised."""

from __future__ import annotations

from typing import Any

from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run
from notifications.people.consent import standing
from notifications.people.project import Project

NUMBERS = "campaigns_message_number"


class Message(models.Model):
    """What is one person sent, from when on, and did it leave?"""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        TAKEN = "taken", _("Taken")  # its recipients are in the run
        CANCELLED = "cancelled", _("Cancelled")

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.BigIntegerField()
    number = models.BigIntegerField()
    # No foreign keys, as with recipients: people and devices may go before it does.
    contact_id = models.BigIntegerField()
    device_id = models.BigIntegerField(null=True)  # only this one
    content = models.JSONField()
    variables = models.JSONField()
    category_kind = models.CharField(max_length=13, blank=True)
    category = models.CharField(max_length=50, blank=True)
    on_unknown = models.CharField(max_length=6, choices=Run.OnUnknown)
    ttl_seconds = models.PositiveIntegerField()
    collapse = models.CharField(max_length=64, blank=True)
    # {"article": "…", "days": 30}, either may be missing. None: not into the inbox.
    inbox = models.JSONField(null=True)
    state = models.CharField(max_length=9, choices=State)
    at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())
    first_seq = models.IntegerField(null=True)
    last_seq = models.IntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "taken", "cancelled"]),
                name="a_message_state_we_know",
            )
        ]
        indexes = [
            models.Index(fields=["at"], condition=Q(state="waiting"), name="waiting_messages")
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def id(self) -> str:
        return id_of(self.run_id, self.number)

    @property
    def collapse_id(self) -> str:
        """The same for every copy to one phone, so that a second one replaces the first."""
        return self.collapse or f"carillon-{self.id}"

    def cancel(self) -> bool:
        """Whether it had not left. Of a cancel and a worker that takes it, one comes first."""
        waiting = Message.objects.filter(
            run_id=self.run_id, number=self.number, state=Message.State.WAITING
        )
        return bool(waiting.update(state=Message.State.CANCELLED))


class Deduplication(models.Model):
    """Which message did the first call with this key make?"""

    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    key = models.CharField(max_length=200)
    message = models.CharField(max_length=40)
    until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="one_message_per_key")
        ]
        indexes = [models.Index(fields=["until"], name="deduplications_by_end")]

    def __str__(self) -> str:
        return f"{self.key} of project {self.project_id}"


def id_of(run_id: int, number: int) -> str:
    return f"{run_id}-{number}"


# A row whose time is over is taken over; one that is alive is left alone, and nothing is returned.
# A call at the same moment waits here for the other one's commit.
REMEMBER = """
INSERT INTO campaigns_deduplication AS known (project_id, key, message, until)
VALUES (%(project)s, %(key)s, %(message)s, statement_timestamp() + %(window)s * interval '1 s')
ON CONFLICT (project_id, key) DO UPDATE SET message = EXCLUDED.message, until = EXCLUDED.until
    WHERE known.until <= statement_timestamp()
RETURNING message
"""


def first_of(project_id: int, key: str, message: str, window: int) -> str:
    """The id of the message that this key stands for: ours, or that of an earlier call."""
    values: dict[str, Any] = {"project": project_id, "key": key, "message": message}
    while True:
        with connection.cursor() as cursor:
            cursor.execute(REMEMBER, values | {"window": window})
            if cursor.fetchone():
                return message
        known = Deduplication.objects.filter(project=project_id, key=key)
        if earlier := known.values_list("message", flat=True).first():
            return earlier


def forget_keys(most: int = 1_000) -> None:
    """Those whose time is over."""
    over = Deduplication.objects.filter(until__lt=Now()).values("pk")[:most]
    Deduplication.objects.filter(pk__in=over).delete()


def of_recipients(run_id: int, first: int, last: int) -> dict[int, Message]:
    """The messages whose recipients these are, by number."""
    ours = Message.objects.filter(run_id=run_id, first_seq__lte=last, last_seq__gte=first)
    return {message.number: message for message in ours}


def asks_of(run_id: int, seq: int) -> dict[str, Any]:
    """What standing.py must know of its category: a chunk holds messages of one category."""
    found = Message.objects.filter(run_id=run_id, first_seq__lte=seq, last_seq__gte=seq)
    kind, slug = found.values_list("category_kind", "category").get()
    return standing.asked_of(kind, slug)
