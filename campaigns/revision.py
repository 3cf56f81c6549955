"""Revisions: every text a template has had, who wrote it, and when."""

from __future__ import annotations

from django.db import models

from campaigns.template import Template


class TemplateRevision(models.Model):
    """What did this template say after that change?"""

    template = models.ForeignKey(Template, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    content = models.JSONField(help_text="As `Template.frozen` gives it.")
    by = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["template", "number"], name="one_revision_per_number")
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.template}"
