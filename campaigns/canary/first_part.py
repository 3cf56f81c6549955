"""FirstPart: the state of a run's first part (canary) and the decision to send to the rest.

The rest are chunks that are not due before HELD_UNTIL. One guarded UPDATE sets `went_on_at` and so
releases them: of any number of processes that try, only one does.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import F, Q, Sum
from django.utils.translation import gettext_lazy as _

from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run

# Never due: no chunk is enqueued before its time.
HELD_UNTIL = datetime(9999, 1, 1, tzinfo=UTC)


class FirstPart(models.Model):
    """The first part (canary) of a run: its results, and whether the rest was released."""

    class Decision(models.TextChoices):
        GOOD = "good", _("good enough")
        PERSON = "person", _("a person decided")
        UNSURE = "unsure", _("good enough, and no variant was clearly better")

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="first_part"
    )
    devices = models.PositiveIntegerField()
    # When all its recipients had an outcome: the wait begins.
    sent_at = models.DateTimeField(null=True)
    # How many devices were known to report receipts before the run began. Counted once, after
    # `sent_at`: a page that polls each second must not read so many rows.
    known = models.PositiveIntegerField(null=True)
    judged_at = models.DateTimeField(null=True)
    # The figures at the decision: what comes later belongs to the whole run.
    figures = models.JSONField(null=True)
    went_on_at = models.DateTimeField(null=True)
    decision = models.CharField(max_length=6, choices=Decision, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(went_on_at=None) | ~Q(decision=""), name="who_goes_on_was_decided_on"
            )
        ]

    def __str__(self) -> str:
        return f"first part of run {self.run_id}"

    @property
    def chunks(self) -> models.QuerySet[Chunk]:
        return Chunk.objects.filter(run=self.run_id, follows=False)

    def ranges_of_rest(self) -> list[range]:
        return ranges_of(Chunk.objects.filter(run=self.run_id, follows=True))

    @property
    def judges_at(self) -> datetime | None:
        """When the wait ends; None: it has not begun."""
        wait = timedelta(seconds=self.run.first_wait_seconds)
        return self.sent_at + wait if self.sent_at else None

    def let_go(self, decision: Decision, figures: dict[str, Any], now: datetime) -> int:
        """Release the rest; return to how many it goes, or 0 if another process was faster.

        It works in the caller's transaction, which has locked the run. If the process dies here:
        nothing was decided.
        """
        open_part = FirstPart.objects.filter(pk=self.pk, went_on_at=None)
        decided = {"decision": decision, "figures": figures, "went_on_at": now}
        if not open_part.update(**decided):
            return 0
        for name, value in decided.items():
            setattr(self, name, value)
        held_chunks = Chunk.objects.filter(run=self.run_id, follows=True, not_before=HELD_UNTIL)
        people = held_chunks.aggregate(count=Sum(F("last_seq") - F("first_seq") + 1))["count"]
        held_chunks.filter(state=Chunk.State.WAITING).update(not_before=None)
        return people or 0


def ranges_of(chunks: models.QuerySet[Chunk]) -> list[range]:
    """The ranges of recipient numbers in these chunks; adjacent chunks are joined."""
    ranges: list[range] = []
    for first, last in chunks.order_by("first_seq").values_list("first_seq", "last_seq"):
        if ranges and ranges[-1].stop == first:
            ranges[-1] = range(ranges[-1].start, last + 1)
        else:
            ranges.append(range(first, last + 1))
    return ranges


def part_of(run: Run) -> FirstPart | None:
    """The run's first part, or None. A run without one costs no query."""
    if run.first_percent is None:
        return None
    return FirstPart.objects.select_related("run").filter(run=run.pk).first()


def held(run: Run) -> FirstPart | None:
    """The run's first part, as long as the rest waits for it; else None."""
    part = part_of(run)
    return part if part and part.went_on_at is None else None


def waited_since(run: Run, moment: datetime) -> bool:
    """Whether the rest waits or has waited since `moment`: then a pause in sending is expected."""
    part = part_of(run)
    return part is not None and (part.went_on_at is None or part.went_on_at > moment)
