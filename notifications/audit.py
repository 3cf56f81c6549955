"""The audit trail: who did what to which row. Written once, never changed."""

from __future__ import annotations

from typing import Any

from django.db import models

from notifications.project import Project


class AuditEntry(models.Model):
    """What did a person or a program do here?"""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=200, help_text="user:NAME, key:PREFIX or carillon.")
    action = models.CharField(max_length=50)
    subject = models.CharField(max_length=100, help_text="What it was done to, e.g. run 81.")
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.subject}"


def record(
    actor: str, action: str, subject: str, *, project: Project | None, **detail: Any
) -> None:
    AuditEntry.objects.create(
        project=project, actor=actor, action=action, subject=subject, detail=detail
    )
