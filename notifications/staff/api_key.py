"""API keys: shown once, stored as a hash, limited to one project and to scopes."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.people.project import OfProject, Project

PREFIX_LENGTH = 12


class Scope(models.TextChoices):
    """What a key may do. The page, the API reference and docs/api.md all use these texts."""

    CONTACTS = (
        "contacts",
        _(
            "People: reads and writes people, devices, consent categories and suppressions, "
            "exports a person, and reports events."
        ),
    )
    AUDIENCES = (
        "audiences",
        _("Audiences: reads and writes audiences and lists, counts them, and explains who is in."),
    )
    TEMPLATES = (
        "templates",
        _("Templates: reads and writes templates and snippets, and previews a message."),
    )
    RUNS = (
        "runs",
        _(
            "Runs: reads and writes what is to be sent, reads runs, their alerts, what they take "
            "of the quota, and deliveries with who got which message; reports how busy your "
            "servers are. It sends nothing."
        ),
    )
    LAUNCH = (
        "launch",
        _(
            "Sending: launches what is prepared, stops a series; pauses, resumes and cancels runs, "
            "and says that an alert was seen."
        ),
    )
    MESSAGES = (
        "messages",
        _(
            "One person: sends messages to single people, and test sends to a few; reads and "
            "cancels these messages, and reads what is in an inbox."
        ),
    )
    REPORTS = (
        "reports",
        _("Reports: reads and writes endpoints, tries them, and reads what they were told."),
    )


class ApiKey(OfProject):
    """A program's key for the API, with its scopes."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=PREFIX_LENGTH, unique=True, editable=False)
    # A fast hash is enough: the key is 256 random bits, not a password that a person chose.
    digest = models.CharField(max_length=64, editable=False)
    scopes = ArrayField(models.CharField(max_length=20))  # values of Scope
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def may(self) -> str:
        """What the key may do, in words. The API and the docs name scopes by their codes."""
        if set(self.scopes) == set(Scope.values):
            return gettext("Everything")
        return " ".join(str(Scope(scope).label) for scope in self.scopes)

    @classmethod
    def issue(
        cls,
        project: Project,
        name: str,
        scopes: list[str] | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, str]:
        """Create a key. Returns its row and the key itself, which is shown only once."""
        key = f"car_{secrets.token_urlsafe(32)}"
        row = cls.objects.create(
            project=project,
            name=name,
            prefix=key[:PREFIX_LENGTH],
            digest=digest_of(key),
            scopes=list(Scope.values if scopes is None else scopes),
            expires_at=expires_at,
        )
        return row, key

    @classmethod
    def find_valid(cls, key: str, *, now: datetime) -> ApiKey | None:
        """Return the key's row if the key is valid now, else None."""
        row = cls.objects.select_related("project").filter(prefix=key[:PREFIX_LENGTH]).first()
        if row is None or not secrets.compare_digest(row.digest, digest_of(key)):
            return None
        expired = row.expires_at is not None and row.expires_at <= now
        return None if expired or row.revoked_at is not None else row


# SQL: a condition that a key is valid, and has the scope, at the moment of the statement.
STILL_VALID_SQL = """
SELECT FROM notifications_apikey WHERE id = %(key)s AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > statement_timestamp()) AND %(scope)s = ANY(scopes)
"""


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
