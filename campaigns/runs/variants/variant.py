"""RunVariant: a variant of a run's text, as its launch froze it.

Variant A is the run's own content, and has no row here. A row never changes; a trigger refuses
updates. The runs of a series read the variants of the first run, unless a person changed one for
them.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _

from campaigns.runs.run import Run
from campaigns.runs.variants.group import LETTERS, MAIN, REST, gets_a_text, name_of


class RunVariant(models.Model):
    """The text of one variant of a run, other than the main text."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="variants")
    number = models.SmallIntegerField()
    content = models.JSONField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_run_variant_per_number"),
            models.CheckConstraint(
                condition=Q(number__gt=MAIN, number__lt=len(LETTERS)),
                name="the_main_text_is_the_runs_own",
            ),
        ]

    def __str__(self) -> str:
        return f"variant {LETTERS[self.number]} of run {self.run_id}"


def as_launched(run: Run) -> dict[int, dict[str, Any]]:
    """All texts of the run at its launch, by variant; only one if it has no variants.

    `revisions.revision.texts_of` has the current texts.
    """
    if not has_variants(run):
        return {MAIN: run.content}
    kept_at = run.split.get("texts", run.pk)
    others = RunVariant.objects.filter(run=kept_at).values_list("number", "content")
    return {MAIN: run.content, **dict(others)}


def keep(run: Run, texts: dict[int, dict[str, Any]]) -> None:
    """Store the variants beside the main text, which is the run's own content."""
    RunVariant.objects.bulk_create(
        RunVariant(run=run, number=number, content=content)
        for number, content in texts.items()
        if number != MAIN
    )


def read_by(run: Run, group: int | None) -> int:
    """The variant whose text a group gets.

    The rest of a trial gets the chosen variant; until then nothing is sent to it. Groups that get
    nothing have the main text, which is not sent.
    """
    if group == REST:
        return run.winner or MAIN
    return group if group is not None and gets_a_text(group) else MAIN


def has_variants(run: Run) -> bool:
    return len(run.split.get("weights", ())) > 1


def check(run: Run, number: int) -> None:
    """Raises ValidationError, by field, if the run has no such variant."""
    numbers = range(max(1, len(run.split.get("weights", ()))))
    if number not in numbers:
        text = _("Run %(number)d has no variant %(letter)s. Choose one of %(known)s.")
        named = {"letter": name_of(number), "known": ", ".join(map(name_of, numbers))}
        raise ValidationError({"variant": text % {"number": run.pk, **named}})
