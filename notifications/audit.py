"""The audit trail: who did what to which row, when, from where, and what it was before.

Written once, never changed: a trigger refuses UPDATE, DELETE and TRUNCATE, whoever asks.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from notifications import origin
from notifications.project import Project


class AuditEntry(models.Model):
    """What did a person or a program do here?"""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=200, help_text=_("user:NAME, key:PREFIX or carillon."))
    action = models.CharField(max_length=50)
    subject = models.CharField(max_length=100, help_text=_("What it was done to, e.g. run 81."))
    address = models.GenericIPAddressField(
        "from", null=True, blank=True, help_text=_("Empty: a command on the server, or a worker.")
    )
    changes = models.JSONField(default=dict, blank=True, help_text=_("{field: [before, after]}"))
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = _("audit entries")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.subject}"


def record(
    actor: str,
    action: str,
    subject: str,
    *,
    project: Project | None,
    changes: dict[str, list[Any]] | None = None,
    **detail: Any,
) -> None:
    AuditEntry.objects.create(
        project=project,
        actor=actor,
        action=action,
        subject=subject[:100],
        address=origin.address(),
        changes=changes or {},
        detail=detail,
    )
