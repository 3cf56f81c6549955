"""RunRevision: a changed text of a run under way, for the recipients who still wait.

Revision 1 is what the launch froze: it is the run's own content, and has no row here. Each later
revision is a row that never changes again; a trigger refuses updates. The run knows the newest
number, a window names the revision of its requests, and each delivery the one that left last. If
the run has variants, a revision has a row for each changed variant; the other texts stay.
"""

from __future__ import annotations

from typing import Any

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from campaigns.runs.run import Run
from campaigns.runs.variants import variant as variants
from campaigns.runs.variants.group import LETTERS, MAIN

FIRST = 1
MOST = 99  # of one run: more are surely the mistake of a program


class RunRevision(models.Model):
    """The text of a run, or of one of its variants, from a moment on."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="revisions")
    number = models.SmallIntegerField()
    variant = models.SmallIntegerField(default=MAIN, db_default=MAIN)  # whose text it is
    content = models.JSONField()
    # The following runs of its series have this text, too.
    next_runs = models.BooleanField(default=False, db_default=False)
    by = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["number", "variant"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "number", "variant"], name="one_text_per_run_revision"
            ),
            models.CheckConstraint(
                condition=Q(number__gt=FIRST), name="the_first_revision_is_the_runs_own"
            ),
            models.CheckConstraint(
                condition=Q(variant__gte=MAIN, variant__lt=len(LETTERS)),
                name="a_revision_of_a_text_we_know",
            ),
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of run {self.run_id}"


class ChangedMeanwhile(Run.InvalidMove):
    """Another person changed the text first; the caller looked at an older one."""

    def __init__(self) -> None:
        super().__init__(
            gettext("Somebody changed its text in the meantime. Look at it again, then decide.")
        )


def texts_of(run: Run, number: int | None = None) -> dict[int, dict[str, Any]]:
    """The texts of a revision, by variant; without a number, of the newest."""
    last = run.revision if number is None else number
    launched = variants.as_launched(run)
    return (
        launched
        if last == FIRST
        else _newest_texts(launched, run.revisions.filter(number__lte=last))
    )


def content_of(run: Run, number: int | None = None, *, variant: int = MAIN) -> dict[str, Any]:
    """The text of one variant in a revision; without a number, in the newest."""
    return texts_of(run, number)[variant]


def history(run: Run) -> dict[int, dict[int, dict[str, Any]]]:
    """The texts of all revisions: by number, then by variant."""
    changed: dict[int, dict[int, dict[str, Any]]] = {}
    for number, variant, content in run.revisions.values_list("number", "variant", "content"):
        changed.setdefault(number, {})[variant] = content
    texts = {FIRST: variants.as_launched(run)}
    for number in range(FIRST + 1, run.revision + 1):
        texts[number] = {**texts[number - 1], **changed.get(number, {})}
    return texts


def handed_on(run: Run) -> dict[int, dict[str, Any]]:
    """The texts of the next run of its series, by variant."""
    return _newest_texts(variants.as_launched(run), run.revisions.filter(next_runs=True))


def _newest_texts(
    launched: dict[int, dict[str, Any]], later: models.QuerySet[RunRevision]
) -> dict[int, dict[str, Any]]:
    newest = later.order_by("variant", "-number").distinct("variant")
    return {**launched, **dict(newest.values_list("variant", "content"))}


def revise(
    run: Run, contents: dict[int, dict[str, Any]], *, of: int, by: str, next_runs: bool
) -> None:
    """Change the text for recipients who still wait, for each variant that is named.

    `of` is the revision that the person looked at: if two people change it at once, one succeeds.
    Raises Run.InvalidMove; then nothing was changed.

    If the process dies here: all rows are there, or none is.
    """
    what = gettext("change its text")
    with transaction.atomic():
        unfinished = Run.objects.filter(pk=run.pk, finished_at=None)
        looked_at = unfinished.exclude(state=Run.State.CANCELLED).filter(revision=of)
        if not looked_at.update(revision=F("revision") + 1):
            run.refresh_from_db()
            raise ChangedMeanwhile if run.revision != of else run.refused(what)
        about = {"number": of + 1, "by": by, "next_runs": next_runs}
        for variant, content in contents.items():
            run.revisions.create(variant=variant, content=content, **about)
    run.revision = of + 1
