"""Message: a push that a program sends to one person, and the key that detects a repeated call."""

from __future__ import annotations

from typing import Any

from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.values.exact import Decoder, Encoder

NUMBERS = "campaigns_message_number"


class Message(models.Model):
    """A message to one person: its content, when it is due, and whether it was taken for sending.

    A call to many people is a row for each person. The first row has the text; the others share it.
    """

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
    shares = models.BigIntegerField(null=True)  # the number of the row with its text and variables
    content = models.JSONField(null=True)
    variables = models.JSONField(null=True, encoder=Encoder, decoder=Decoder)
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
    bulk = models.BooleanField(default=False, db_default=False)  # goes by the queue of campaigns
    # In the first row of a call to a long list: members with an id above `list_after` have no row
    # yet.
    list_id = models.BigIntegerField(null=True)
    list_after = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "taken", "cancelled"]),
                name="a_message_state_we_know",
            ),
            models.CheckConstraint(
                condition=Q(shares__isnull=True, content__isnull=False)
                | Q(shares__isnull=False, content__isnull=True),
                name="a_message_has_or_shares_a_text",
            ),
        ]
        indexes = [
            models.Index(
                fields=["bulk", "at"], condition=Q(state="waiting"), name="waiting_messages"
            ),
            models.Index(fields=["contact_id", "number"], name="messages_of_person"),
            models.Index(
                fields=["shares", "first_seq"],
                condition=Q(shares__isnull=False),
                name="messages_that_share",
            ),
            models.Index(
                fields=["number"],
                condition=Q(list_after__isnull=False),
                name="unfolding_messages",
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def id(self) -> str:
        return id_of(self.run_id, self.number)

    @property
    def collapse_id(self) -> str:
        """The id by which a second copy on a phone replaces the first."""
        return self.collapse or f"carillon-{self.id}"


class Deduplication(models.Model):
    """The message that the first call with a deduplication key made."""

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


def next_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT nextval('{NUMBERS}')")
        number: int = cursor.fetchone()[0]
    return number


# An expired row is replaced. A valid row stays, and nothing is returned. A concurrent call with the
# same key waits here for the other one's commit.
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
        if earlier := known_by(project_id, [key]).get(key):
            return earlier


def known_by(project_id: int, keys: list[str]) -> dict[str, str]:
    """The ids of the messages that these keys stand for."""
    rows = Deduplication.objects.filter(project=project_id, key__in=keys)
    return dict(rows.values_list("key", "message"))


def forget_keys(most: int = 1_000) -> None:
    """Remove up to `most` deduplication keys that are over."""
    over = Deduplication.objects.filter(until__lt=Now()).values("pk")[:most]
    Deduplication.objects.filter(pk__in=over).delete()


def of_recipients(run_id: int, first: int, last: int) -> dict[int, Message]:
    """The messages of these recipients, by number. A message that shares a text is replaced by the
    one that has it."""
    rows = Message.objects.filter(run_id=run_id, first_seq__lte=last, last_seq__gte=first)
    messages = {message.number: message for message in rows}
    lacking = {message.shares for message in messages.values() if message.shares} - messages.keys()
    heads = messages | {
        message.number: message
        for message in Message.objects.filter(run_id=run_id, number__in=lacking)
    }
    return {number: heads[message.shares or number] for number, message in messages.items()}


def category_of(run_id: int, seq: int) -> tuple[str, str]:
    """The kind and slug of a recipient's category. A chunk holds messages of one category."""
    messages = Message.objects.filter(run_id=run_id, first_seq__lte=seq, last_seq__gte=seq)
    return messages.values_list("category_kind", "category").get()
