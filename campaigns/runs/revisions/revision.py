"""RunRevision: the text of a run as somebody changed it under way, for whoever still waits.

Revision 1 is what the launch froze: it is the run's own content, and has no row here. Each later
one is a row that nothing changes again; a trigger refuses it. The run knows the newest number, a
window names the one that its requests were made with, and each delivery the one that left last.
"""

from __future__ import annotations

from typing import Any

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from campaigns.runs.run import Run

FIRST = 1
MOST = 99  # of one run: more is a program that has lost its way


class RunRevision(models.Model):
    """What does this run say from that moment on?"""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="revisions")
    number = models.SmallIntegerField()
    content = models.JSONField()
    # The runs of its series that follow say it, too.
    next_runs = models.BooleanField(default=False, db_default=False)
    by = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_run_revision_per_number"),
            models.CheckConstraint(
                condition=Q(number__gt=FIRST), name="the_first_revision_is_the_runs_own"
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


def content_of(run: Run, number: int | None = None) -> dict[str, Any]:
    """What that revision says; without a number, the newest."""
    number = run.revision if number is None else number
    if number == FIRST:
        first: dict[str, Any] = run.content
        return first
    content: dict[str, Any] = run.revisions.values_list("content", flat=True).get(number=number)
    return content


def contents_of(run: Run) -> dict[int, dict[str, Any]]:
    """All that it has said, by number."""
    later = run.revisions.values_list("number", "content") if run.revision > FIRST else ()
    return {FIRST: run.content, **dict(later)}


def handed_on(run: Run) -> dict[str, Any]:
    """What the next run of its series says."""
    meant = run.revisions.filter(next_runs=True).order_by("-number").first()
    content: dict[str, Any] = meant.content if meant else run.content
    return content


def revise(run: Run, content: dict[str, Any], *, of: int, by: str, next_runs: bool) -> None:
    """Whoever still waits gets this. Of two people who change it at once, one does: both looked at
    the same number. Raises Run.InvalidMove; then nothing was changed.

    If the process dies here: both rows are there, or none is.
    """
    what = gettext("change its text")
    with transaction.atomic():
        unfinished = Run.objects.filter(pk=run.pk, finished_at=None)
        looked_at = unfinished.exclude(state=Run.State.CANCELLED).filter(revision=of)
        if not looked_at.update(revision=F("revision") + 1):
            run.refresh_from_db()
            raise ChangedMeanwhile if run.revision != of else run.refused(what)
        run.revisions.create(number=of + 1, content=content, by=by, next_runs=next_runs)
    run.revision = of + 1
