"""Revisions: every text a template has had, who wrote it, and when."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy

from campaigns.texts.content import TEXTS
from campaigns.texts.template import Template

CONTENT_FIELDS = ("name", *TEXTS, "data", "options", "locales")


class TemplateRevision(models.Model):
    """What did this template say after that change?"""

    template = models.ForeignKey(Template, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    content = models.JSONField(help_text=gettext_lazy("As `Template.frozen` gives it."))
    by = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["template", "number"], name="one_revision_per_number")
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.template}"


def newest(template: Template) -> TemplateRevision | None:
    return TemplateRevision.objects.filter(template=template).first()


def newest_number(template: Template) -> int:
    revision = newest(template)
    return revision.number if revision else 0


def open_for_change(template_pk: int) -> None:
    """Before a template is read to be changed: whoever else wants to change it waits for us.

    Needs a transaction. A template that is older than its revisions gets its first one here, or
    nobody would ever read again what it said before.
    """
    template = Template.objects.select_for_update().filter(pk=template_pk).first()
    if template is None or template.revisions.exists():
        return
    former = TemplateRevision.objects.create(
        template=template, number=1, content=content_of(template), by=""
    )
    TemplateRevision.objects.filter(pk=former.pk).update(at=template.updated_at)


def keep(template: Template, *, by: str) -> TemplateRevision | None:
    """Write what was just saved, unless it says what it said before.

    In the transaction that saved it: there is no saved text without its revision, and the lock of
    `open_for_change` keeps two writers from the same number.
    """
    last, content = newest(template), content_of(template)
    if last is not None and says_the_same(last.content, content):
        return None
    number = last.number + 1 if last else 1
    return TemplateRevision.objects.create(template=template, number=number, content=content, by=by)


def content_of(template: Template) -> dict[str, Any]:
    """As a run would freeze it, and the name, which a run does not need."""
    return {**template.frozen(), "name": template.name}


def says_the_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in CONTENT_FIELDS)
