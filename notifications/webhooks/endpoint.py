"""Endpoint: where reports go, what it wants to hear of, and how it has been answering.

What nobody else may know is sealed: the secret that webhooks are signed with, or Slack's URL. A
secret that was replaced signs beside the new one for a day.
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
from notifications.webhooks.event_types import Kind

OVERLAP = timedelta(days=1)  # both secrets sign for so long
SECRET_BYTES = 24
MOST_ENDPOINTS = 50  # of a project: each is asked for in every commit that reports anything


class Endpoint(OfProject):
    """Who wants to hear what, and do they answer?"""

    class Via(models.TextChoices):
        WEBHOOK = "webhook", _("Webhook")
        SLACK = "slack", _("Slack")
        EMAIL = "email", _("E-mail")

    class Why(models.TextChoices):
        """Why nothing is sent to it any more."""

        BY_HAND = "by_hand", _("Switched off by hand.")
        GONE = "gone", _("It answered 410 Gone: it wants no more.")
        FAILING = "failing", _("It took nothing for 5 days.")

    name = models.CharField(max_length=100)
    via = models.CharField(max_length=7, choices=Via)
    # A webhook's URL, or e-mail addresses; of Slack's URL no more than tells two apart.
    target = models.TextField(editable=False)
    sealed = models.BinaryField(null=True, editable=False)
    sealed_before = models.BinaryField(null=True, editable=False)
    before_ends_at = models.DateTimeField(null=True, editable=False)
    sealed_with = models.CharField(max_length=8, blank=True, editable=False)
    kinds = ArrayField(models.CharField(max_length=20), default=list)  # of Kind
    # Numbers of what runs are of; empty: all. What is of none of these always comes.
    only = ArrayField(models.BigIntegerField(), blank=True, default=list)
    batched = models.BooleanField(default=False)
    # Of what people read.
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
        """At most one call a second: Slack asks for that, and who takes batches does."""
        return self.batched or self.is_for_people

    # --- What is sealed --------------------------------------------------------------------------

    def seal(self, text: str) -> None:
        """Of a row that may not be stored yet, so it cannot say which it is of."""
        self.sealed = sealing.seal(text.encode(), about=_whose(self.project_id))
        self.sealed_with = sealing.key_id()

    def open(self) -> str:
        """Slack's URL, or the secret in force. Raises WrongKey."""
        return self._unsealed(self.sealed)

    def secrets(self, *, now: datetime) -> list[str]:
        """All that sign at this moment, the one in force first. Raises WrongKey."""
        before = self.sealed_before if self.before_ends_at and self.before_ends_at > now else None
        return [self._unsealed(each) for each in (self.sealed, before) if each is not None]

    def _unsealed(self, sealed: bytes | memoryview | None) -> str:
        try:
            return sealing.unseal(bytes(sealed or b""), about=_whose(self.project_id)).decode()
        except sealing.Unsealable:
            raise WrongKey(
                "What this endpoint keeps was encrypted with another CREDENTIALS_KEY "
                f"(id {self.sealed_with}, ours is {sealing.key_id()}). Add that key behind ours, "
                "after a comma, or replace the endpoint."
            ) from None

    def new_secret(self) -> str:
        """The first one; shown once."""
        secret = _drawn()
        self.seal(secret)
        return secret

    class StillSigns(Exception):
        """The secret before this one was promised some more time."""

    def rotate(self, *, at_once: bool = False, now: datetime) -> str:
        """A new secret in force; the one before it signs beside it for a day, or ends at once and
        with it whatever was promised before. Raises StillSigns: a third one would end a promise."""
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
        """One guarded UPDATE: whether it was us. What waits is kept for as long as it is tried."""
        on = Endpoint.objects.filter(pk=self.pk, disabled_at=None)
        with transaction.atomic():
            done = on.update(disabled_at=now, disabled_why=why)
            tell_project(self.project_id)
        self.refresh_from_db()
        return bool(done)

    def enable(self) -> None:
        with transaction.atomic():
            Endpoint.objects.filter(pk=self.pk).update(
                disabled_at=None, disabled_why="", failing_since=None, failures=0, rests_until=None
            )
            tell_project(self.project_id)
        self.refresh_from_db()

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            super().save(*args, **kwargs)
            tell_project(self.project_id)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        with transaction.atomic():
            gone = super().delete(*args, **kwargs)
            tell_project(self.project_id)
        return gone


TELL = """
UPDATE notifications_project SET wanted_reports = ARRAY(
    SELECT DISTINCT unnest(kinds) FROM notifications_endpoint
    WHERE project_id = %(project)s AND disabled_at IS NULL ORDER BY 1
) WHERE id = %(project)s
"""


def tell_project(project_id: int) -> None:
    """Its row says what anybody wants to hear, so that nobody is asked where nobody does."""
    with connection.cursor() as cursor:
        # Of two changes at once the second counts what the first has written.
        cursor.execute(
            "SELECT FROM notifications_project WHERE id = %s FOR NO KEY UPDATE", [project_id]
        )
        cursor.execute(TELL, {"project": project_id})


def wanted(project: Project, kinds: Iterable[Kind]) -> bool:
    return not set(kinds).isdisjoint(project.wanted_reports)


def seal_anew() -> tuple[int, list[str]]:
    """All with today's key: how many were not, and the endpoints that no key opens."""
    done, lost = 0, []
    for row in Endpoint.objects.exclude(sealed=None).exclude(sealed_with=sealing.key_id()):
        try:
            before = row._unsealed(row.sealed_before) if row.sealed_before else None
            text = row.open()
        except WrongKey:
            lost.append(f"{row.project.slug}: {row.name}")
            continue
        was = row.sealed
        if before is not None:
            row.seal(before)
            row.sealed_before = row.sealed
        row.seal(text)
        values = {name: getattr(row, name) for name in ("sealed", "sealed_before", "sealed_with")}
        done += Endpoint.objects.filter(pk=row.pk, sealed=was).update(**values)
    return done, sorted(lost)


def _drawn() -> str:
    """As Standard Webhooks writes one."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}"


def _whose(project_id: int) -> str:
    return f"endpoint of {project_id}"
