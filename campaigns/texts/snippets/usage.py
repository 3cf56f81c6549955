"""Which templates mention which snippets, and what the snippets say now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Max

from campaigns.texts.snippets.mentions import names_in
from campaigns.texts.snippets.snippet import Snippet

Snippets = dict[str, dict[str, Any]]
mentioned = names_in


class SnippetUse(models.Model):
    """A template that mentions a snippet. The snippet cannot be deleted while one does."""

    snippet = models.ForeignKey(Snippet, on_delete=models.PROTECT, related_name="uses")
    template = models.ForeignKey(
        "campaigns.Template", on_delete=models.CASCADE, related_name="snippet_uses"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["snippet", "template"], name="one_use_per_template")
        ]

    def __str__(self) -> str:
        return f"{self.snippet} in {self.template}"

    @property
    def user_end(self) -> models.Model:
        """The row to name when somebody tries to delete the snippet."""
        return self.template


def names(project_id: int | None) -> list[str]:
    mine = Snippet.objects.filter(project=project_id)
    return list(mine.order_by("name").values_list("name", flat=True))


def snippets_to_freeze(project_id: int | None, names: Iterable[str] | None = None) -> Snippets:
    """The project's snippets by name, as a run stores them; with `names`, only these.

    It takes one statement.
    """
    mine = Snippet.objects.filter(project=project_id)
    if names is not None:
        mine = mine.filter(name__in=list(names))
    numbered = mine.annotate(number=Max("revisions__number"))
    return {
        snippet.name: {"revision": snippet.number or 0, **snippet.says()} for snippet in numbered
    }


def tie(template: Any) -> None:
    """Store which snippets a template that was just saved mentions.

    If a snippet is being deleted at this moment, this waits until it is gone. The next check of the
    text then says so.
    """
    used_names = names_in(template.written())
    uses = SnippetUse.objects.filter(template=template)
    if not used_names:
        uses.delete()
        return
    mine = Snippet.objects.filter(project=template.project_id, name__in=used_names).order_by("pk")
    snippets = list(mine.select_for_update(no_key=True))
    uses.exclude(snippet__in=snippets).delete()
    rows = [SnippetUse(snippet=snippet, template=template) for snippet in snippets]
    SnippetUse.objects.bulk_create(rows, ignore_conflicts=True)
