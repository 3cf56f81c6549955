"""RunRevision: the text of a run as somebody changed it under way, for whoever still waits.

Revision 1 is what the launch froze: it is the run's own content, and has no row here. Each later
one is a row that nothing changes again; a trigger refuses it. The run knows the newest number, a
window names the one that its requests were made with, and each delivery the one that left last. Of
a run with variants, it has a row for each whose text changed; the others say what they said.
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
MOST = 99  # of one run: more is a program that has lost its way


class RunRevision(models.Model):
    """What does this run say from that moment on?"""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="revisions")
    number = models.SmallIntegerField()
    variant = models.SmallIntegerField(default=MAIN, db_default=MAIN)  # whose text it is
    content = models.JSONField()
    # The runs of its series that follow say it, too.
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
    """Somebody else changed the text first; what was looked at is not what it says."""

    def __init__(self) -> None:
        super().__init__(
            gettext("Somebody changed its text in the meantime. Look at it again, then decide.")
        )


def texts_of(run: Run, number: int | None = None) -> dict[int, dict[str, Any]]:
    """What that revision says, by variant; without a number, the newest."""
    last = run.revision if number is None else number
    launched = variants.as_launched(run)
    return launched if last == FIRST else _newest(launched, run.revisions.filter(number__lte=last))


def content_of(run: Run, number: int | None = None, *, variant: int = MAIN) -> dict[str, Any]:
    """The same, of one variant."""
    return texts_of(run, number)[variant]


def history(run: Run) -> dict[int, dict[int, dict[str, Any]]]:
    """What each revision said: by its number, then by variant."""
    changed: dict[int, dict[int, dict[str, Any]]] = {}
    for number, variant, content in run.revisions.values_list("number", "variant", "content"):
        changed.setdefault(number, {})[variant] = content
    said = {FIRST: variants.as_launched(run)}
    for number in range(FIRST + 1, run.revision + 1):
        said[number] = {**said[number - 1], **changed.get(number, {})}
    return said


def handed_on(run: Run) -> dict[int, dict[str, Any]]:
    """What the next run of its series says, by variant."""
    return _newest(variants.as_launched(run), run.revisions.filter(next_runs=True))


def _newest(
    launched: dict[int, dict[str, Any]], later: models.QuerySet[RunRevision]
) -> dict[int, dict[str, Any]]:
    newest = later.order_by("variant", "-number").distinct("variant")
    return {**launched, **dict(newest.values_list("variant", "content"))}


def revise(
    run: Run, contents: dict[int, dict[str, Any]], *, of: int, by: str, next_runs: bool
) -> None:
    """Whoever still waits gets this: of each variant that is named. Of two people who change it at
    once, one does: both looked at the same number. Raises Run.InvalidMove; then nothing was
    changed.

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
