"""Suppression: people who get no messages, whatever the rules and their own answers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.contrib.postgres.indexes import OpClass
from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Upper
from django.utils.translation import gettext_lazy as _

from notifications.people.consent.change import ConsentChange
from notifications.people.contact import Contact
from notifications.people.project import OfProject, Project


class Suppression(OfProject):
    """A person who must never get a message.

    Stored by external id, not as a reference to the person: it outlives an erasure, and applies
    again if the person is imported again.
    """

    external_id = models.CharField(max_length=200, help_text=_("The app's own id of this person."))
    at = models.DateTimeField()
    reason = models.CharField(max_length=200, blank=True)
    by = models.CharField(max_length=200, help_text=_("user:NAME or key:PREFIX."))

    class Meta:
        verbose_name = _("suppression")
        verbose_name_plural = _("suppressions")
        constraints = [
            models.UniqueConstraint(
                fields=["project", "external_id"], name="one_suppression_per_external_id"
            ),
            models.CheckConstraint(condition=~Q(external_id=""), name="a_suppression_has_an_id"),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="suppression_of_project"),
            models.Index(
                "project",
                OpClass(Upper("external_id"), name="text_pattern_ops"),
                name="suppression_id_prefix",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


SUPPRESS = """
INSERT INTO notifications_suppression (project_id, external_id, at, reason, by)
SELECT %s, id, %s, %s, %s FROM unnest(%s::text[]) id ORDER BY id
ON CONFLICT (project_id, external_id) DO NOTHING
"""


def suppress(
    project: Project, external_ids: Iterable[str], *, reason: str, by: str, now: datetime
) -> int:
    """Suppress these ids, whether or not such people exist. Returns how many were not suppressed
    before."""
    with connection.cursor() as cursor:
        cursor.execute(SUPPRESS, [project.pk, now, reason, by, list(external_ids)])
        added: int = cursor.rowcount
    return added


def unsuppress(project: Project, external_ids: Iterable[str]) -> int:
    """Take these ids off the list. Returns how many were suppressed."""
    ids = [one for one in external_ids if "\x00" not in one]  # no external id holds a NUL
    found = Suppression.objects.filter(project=project, external_id__in=ids)
    return found.delete()[0]


def suppression_of(contact: Contact) -> Suppression | None:
    return Suppression.objects.filter(
        project=contact.project_id, external_id=contact.external_id
    ).first()


def consent_of(contact: Contact) -> dict[str, Any]:
    """A person's answers with time and source, and whether the person is suppressed."""
    suppressed = suppression_of(contact)
    fields = ("category", "wanted", "at", "source", "by")
    return {
        "subscribed": contact.subscribed,
        "subscribed_at": contact.subscribed_at,
        "subscribed_from": contact.subscribed_from,
        "preferences": contact.preferences,
        "suppressed_at": suppressed.at if suppressed else None,
        "history": list(
            ConsentChange.objects.filter(contact=contact).order_by("-pk").values(*fields)
        ),
    }
