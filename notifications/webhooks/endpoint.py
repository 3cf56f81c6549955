"""Endpoint: where reports are sent, which events it wants, and how it has been answering.

Secrets are sealed: the secret that signs webhooks, or Slack's URL. A secret that was replaced signs
beside the new one for a day.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.gateway import WrongKey
from notifications.keys import sealing
from notifications.people.project import OfProject, Project
from notifications.webhooks.event_types import EventType

OVERLAP = timedelta(days=1)  # both secrets sign for this time
SECRET_BYTES = 24
MAX_ENDPOINTS = 50  # per project: every commit that reports anything looks at each


class Endpoint(OfProject):
    """A receiver of a project's reports: the events it wants, its secrets, and its state."""

    class Via(models.TextChoices):
        WEBHOOK = "webhook", _("Webhook")
        SLACK = "slack", _("Slack")
        EMAIL = "email", _("E-mail")

    class Why(models.TextChoices):
        """Why nothing is sent to the endpoint any more."""

        BY_HAND = "by_hand", _("Switched off by hand.")
        GONE = "gone", _("It answered 410 Gone: it wants no more.")
        FAILING = "failing", _("It took nothing for 5 days.")

    name = models.CharField(max_length=100)
    via = models.CharField(max_length=7, choices=Via)
    # A webhook's URL, or e-mail addresses; of Slack's URL only enough to tell two apart.
    target = models.TextField(editable=False)
    sealed = models.BinaryField(null=True, editable=False)
    sealed_before = models.BinaryField(null=True, editable=False)
    before_ends_at = models.DateTimeField(null=True, editable=False)
    sealed_with = models.CharField(max_length=8, blank=True, editable=False)
    kinds = ArrayField(models.CharField(max_length=20), default=list)  # of Kind
    # Ids of what runs belong to, such as campaigns; empty: all. Events of none always come.
    only = ArrayField(models.BigIntegerField(), blank=True, default=list)
    batched = models.BooleanField(default=False)
    # The language of messages that people read.
    language = models.CharField(max_length=5, default="en")
    created_at = models.DateTimeField(auto_now_add=True)

    disabled_at = models.DateTimeField(null=True, editable=False)
    disabled_why = models.CharField(max_length=10, choices=Why, blank=True, editable=False)
    answered_at = models.DateTimeField(null=True, editable=False)  # when it last took something
    failing_since = models.DateTimeField(null=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)  # in a row
    rests_until = models.DateTimeField(null=True, editable=False)  # nothing is sent before

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_endpoint_per_name"),
            models.CheckConstraint(
                condition=Q(disabled_at__isnull=True, disabled_why="")
                | (Q(disabled_at__isnull=False) & ~Q(disabled_why="")),
                name="a_disabled_endpoint_says_why",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_for_people(self) -> bool:
        return self.via != Endpoint.Via.WEBHOOK

    @property
    def paced(self) -> bool:
        """Whether it gets at most one call a second: Slack asks for that, and batches allow it."""
        return self.batched or self.is_for_people

    # --- What is sealed --------------------------------------------------------------------------

    def seal(self, text: str) -> None:
        """Seal a text. The row may not be stored yet, so the seal names only the project."""
        self.sealed = sealing.seal(text.encode(), about=_seal_purpose(self.project_id))
        self.sealed_with = sealing.key_id()

    def open(self) -> str:
        """Slack's URL, or the current secret. Raises WrongKey."""
        return self._unseal(self.sealed)

    def secrets(self, *, now: datetime) -> list[str]:
        """All secrets that sign at this moment, the current one first. Raises WrongKey."""
        before = self.sealed_before if self.before_ends_at and self.before_ends_at > now else None
        return [self._unseal(each) for each in (self.sealed, before) if each is not None]

    def _unseal(self, sealed: bytes | memoryview | None) -> str:
        try:
            return sealing.unseal(
                bytes(sealed or b""), about=_seal_purpose(self.project_id)
            ).decode()
        except sealing.Unsealable:
            raise WrongKey(
                "What this endpoint keeps was encrypted with another CREDENTIALS_KEY "
                f"(id {self.sealed_with}, ours is {sealing.key_id()}). Add that key behind ours, "
                "after a comma, or replace the endpoint."
            ) from None

    def new_secret(self) -> str:
        """Draw and seal a new secret, which is shown once."""
        secret = _new_secret()
        self.seal(secret)
        return secret

    class StillSigns(Exception):
        """The secret before the current one still signs for some time."""

    def rotate(self, *, at_once: bool = False, now: datetime) -> str:
        """Replace the secret. The one before signs beside the new one for a day.

        `at_once`: all older secrets end now. Otherwise StillSigns is raised while an older one
        still signs: a third secret would end it too early.
        """
        with transaction.atomic():
            row = Endpoint.objects.select_for_update(no_key=True).get(pk=self.pk)
            if not at_once and row.before_ends_at and row.before_ends_at > now:
                raise Endpoint.StillSigns
            row.sealed_before = None if at_once else row.sealed
            row.before_ends_at = None if at_once else now + OVERLAP
            secret = row.new_secret()
            row.save(update_fields=["sealed", "sealed_with", "sealed_before", "before_ends_at"])
        self.refresh_from_db()
        return secret

    # --- Whether it is sent to -------------------------------------------------------------------

    def disable(self, why: Why, *, now: datetime) -> bool:
        """Disable the endpoint with a guarded UPDATE. Returns False if it was disabled already.

        Waiting calls are kept for as long as they are tried.
        """
        on = Endpoint.objects.filter(pk=self.pk, disabled_at=None)
        with transaction.atomic():
            changed = on.update(disabled_at=now, disabled_why=why)
            update_wanted_reports(self.project_id)
        self.refresh_from_db()
        return bool(changed)

    def enable(self) -> None:
        with transaction.atomic():
            Endpoint.objects.filter(pk=self.pk).update(
                disabled_at=None, disabled_why="", failing_since=None, failures=0, rests_until=None
            )
            update_wanted_reports(self.project_id)
        self.refresh_from_db()

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            super().save(*args, **kwargs)
            update_wanted_reports(self.project_id)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        with transaction.atomic():
            deleted = super().delete(*args, **kwargs)
            update_wanted_reports(self.project_id)
        return deleted


TELL = """
UPDATE notifications_project SET wanted_reports = ARRAY(
    SELECT DISTINCT unnest(kinds) FROM notifications_endpoint
    WHERE project_id = %(project)s AND disabled_at IS NULL ORDER BY 1
) WHERE id = %(project)s
"""


def update_wanted_reports(project_id: int) -> None:
    """Store in the project's row which events its endpoints want: unwanted events cost nothing."""
    with connection.cursor() as cursor:
        # Of two changes at once, the second waits here and then sees what the first has written.
        cursor.execute(
            "SELECT FROM notifications_project WHERE id = %s FOR NO KEY UPDATE", [project_id]
        )
        cursor.execute(TELL, {"project": project_id})


def is_wanted(project: Project, kinds: Iterable[EventType]) -> bool:
    return not set(kinds).isdisjoint(project.wanted_reports)


def reseal_all() -> tuple[int, list[str]]:
    """Seal all endpoints with today's key. Returns how many, and those that no key opens."""
    count, lost = 0, []
    for row in Endpoint.objects.exclude(sealed=None).exclude(sealed_with=sealing.key_id()):
        try:
            before = row._unseal(row.sealed_before) if row.sealed_before else None
            text = row.open()
        except WrongKey:
            lost.append(f"{row.project.slug}: {row.name}")
            continue
        old_sealed = row.sealed
        if before is not None:
            row.seal(before)
            row.sealed_before = row.sealed
        row.seal(text)
        values = {name: getattr(row, name) for name in ("sealed", "sealed_before", "sealed_with")}
        count += Endpoint.objects.filter(pk=row.pk, sealed=old_sealed).update(**values)
    return count, sorted(lost)


def _new_secret() -> str:
    """A random secret in the form of Standard Webhooks."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}"


def _seal_purpose(project_id: int) -> str:
    return f"endpoint of {project_id}"
