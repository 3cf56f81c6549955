"""Idempotency keys: a client that did not get our answer sends the request again and gets the same.

The answer is written in the transaction that does the work, under a lock that ends with it. If the
process dies here: neither the work nor the key was committed, and the next request starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection, models, transaction

from notifications.people.project import OfProject, Project

KEPT_FOR = timedelta(days=30)
FORGOTTEN_AT_ONCE = 100


@dataclass(frozen=True)
class Answer:
    """An answer that is stored and returned again: a status, a JSON text and some headers."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
    replayed: bool = False


class IdempotencyKey(OfProject):
    """The answer to the first request with this key."""

    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="Of the request's address and body.")
    status = models.PositiveSmallIntegerField()
    body = models.TextField()
    headers = models.JSONField(default=dict, db_default={})
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="one_answer_per_key")
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotency_keys_by_age")]

    class InFlight(Exception):
        """The first request with this key is still running."""

    class OtherRequest(Exception):
        """This key was already used for another request."""

    def __str__(self) -> str:
        return self.key


def once(
    project: Project, key: str, request: bytes, work: Callable[[], Answer], *, now: datetime
) -> Answer:
    """Do the work, or return the stored answer if it was already done.

    If `work` raises, it is rolled back and nothing is stored: a retry does the work then.
    """
    fingerprint = hashlib.sha256(request).hexdigest()
    with transaction.atomic():
        if not _locked(project, key):
            raise IdempotencyKey.InFlight
        _forget_old(now)
        stored = IdempotencyKey.objects.filter(project=project, key=key).first()
        if stored is not None:
            if stored.fingerprint != fingerprint:
                raise IdempotencyKey.OtherRequest
            return Answer(stored.status, stored.body, stored.headers, replayed=True)
        answer = work()
        IdempotencyKey.objects.create(
            project=project,
            key=key,
            fingerprint=fingerprint,
            status=answer.status,
            body=answer.body,
            headers=dict(answer.headers),
            created_at=now,
        )
    return answer


def _locked(project: Project, key: str) -> bool:
    """Lock the key with an advisory lock. It ends with its transaction, so a process that dies
    leaves no key locked."""
    name = hashlib.sha256(f"{project.pk}:{key}".encode()).digest()[:8]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s)", [int.from_bytes(name, "big", signed=True)]
        )
        return bool(cursor.fetchone()[0])


def _forget_old(now: datetime) -> None:
    """Delete a few old keys with every use, so no periodic task is needed. Skip keys that another
    request is deleting."""
    old = IdempotencyKey.objects.filter(created_at__lt=now - KEPT_FOR)
    free = old.select_for_update(skip_locked=True).values_list("pk", flat=True)
    IdempotencyKey.objects.filter(pk__in=list(free[:FORGOTTEN_AT_ONCE])).delete()
