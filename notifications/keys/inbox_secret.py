"""Inbox secrets: a project signs the inbox tokens of its people with them.

One secret is in force. The one before it stays valid for 30 days more, as long as the longest token
lives, so that a customer's backend has time to switch. A person can end it earlier.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.gateway import WrongKey
from notifications.keys import sealing
from notifications.people.project import OfProject, Project

OVERLAP = timedelta(days=30)


class InboxSecret(OfProject):
    """A secret that signs and verifies a project's inbox tokens."""

    # Public: each token names the secret that signed it, and so its project.
    name = models.CharField(max_length=12, unique=True, editable=False)
    sealed = models.BinaryField(editable=False)
    sealed_with = models.CharField(max_length=8, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField(null=True, editable=False)  # None: in force

    class Meta:
        verbose_name = _("inbox secret")
        verbose_name_plural = _("inbox secrets")
        constraints = [
            models.UniqueConstraint(
                fields=["project"],
                condition=Q(ends_at__isnull=True),
                name="one_inbox_secret_in_force",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def called(cls, name: str, *, now: datetime) -> InboxSecret | None:
        """Return the secret with this name if it is valid now."""
        good = Q(ends_at=None) | Q(ends_at__gt=now)
        return cls.objects.select_related("project").filter(good, name=name).first()

    @classmethod
    def good(cls, names: Collection[str], *, now: datetime) -> set[str]:
        """Return those of these names whose secrets are valid now."""
        good = Q(ends_at=None) | Q(ends_at__gt=now)
        return set(cls.objects.filter(good, name__in=names).values_list("name", flat=True))

    @classmethod
    def in_force(cls, project: Project) -> InboxSecret | None:
        return cls.objects.filter(project=project, ends_at=None).first()

    @classmethod
    def before(cls, project: Project, *, now: datetime) -> InboxSecret | None:
        """Return the secret that was replaced and is still valid."""
        return cls.objects.filter(project=project, ends_at__gt=now).first()

    def open(self) -> str:
        """Decrypt the secret. Raises WrongKey."""
        try:
            return sealing.unseal(bytes(self.sealed), about=_seal_purpose(self.name)).decode()
        except sealing.Unsealable:
            raise WrongKey(
                "This project's inbox secret was encrypted with another CREDENTIALS_KEY "
                f"(id {self.sealed_with}, ours is {sealing.key_id()}). Add that key behind ours, "
                "after a comma, or make a new inbox secret on the project's page."
            ) from None


def first(project: Project) -> tuple[InboxSecret, bool]:
    """Return the secret in force and False. If there is none, create it and return it with True."""
    secret = InboxSecret.in_force(project)
    if secret is not None:
        return secret, False
    with transaction.atomic():
        _hold(project)
        secret = InboxSecret.in_force(project)
        return (secret, False) if secret else (_make(project)[0], True)


def replace(project: Project, *, now: datetime) -> tuple[InboxSecret, str] | None:
    """Create a new secret in force. Returns it with the text for the backend, which is shown only
    once. None: two secrets are valid already."""
    with transaction.atomic():
        _hold(project)
        if InboxSecret.before(project, now=now):
            return None
        InboxSecret.objects.filter(project=project, ends_at=None).update(ends_at=now + OVERLAP)
        row, secret = _make(project)
    return row, f"{row.name}.{secret}"


def end_the_one_before(project: Project, *, now: datetime) -> InboxSecret | None:
    """End the secret before the one in force. Returns it, or None if there was none."""
    with transaction.atomic():
        _hold(project)
        row = InboxSecret.before(project, now=now)
        if row is not None:
            row.ends_at = now
            row.save(update_fields=["ends_at"])
    return row


def seal_anew() -> tuple[int, list[str]]:
    """Encrypt all secrets with today's key. Returns how many were changed, and the projects whose
    secret none of our keys decrypts."""
    count, lost = 0, set[str]()
    others = InboxSecret.objects.exclude(sealed_with=sealing.key_id()).order_by("pk")
    for row in others.select_related("project"):
        try:
            values = _sealed_values(row.name, row.open())
        except WrongKey:
            lost.add(row.project.slug)
            continue
        count += InboxSecret.objects.filter(pk=row.pk).update(**values)
    return count, sorted(lost)


def _hold(project: Project) -> None:
    """Lock the project, so that its secrets are created and ended one at a time."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def _make(project: Project) -> tuple[InboxSecret, str]:
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return InboxSecret.objects.create(
        project=project, name=name, **_sealed_values(name, secret)
    ), secret


def _sealed_values(name: str, secret: str) -> dict[str, bytes | str]:
    sealed = sealing.seal(secret.encode(), about=_seal_purpose(name))
    return {"sealed": sealed, "sealed_with": sealing.key_id()}


def _seal_purpose(name: str) -> str:
    return f"inbox secret {name}"
