"""FirstPart: what came of those who went first, and may the rest go now?

The rest are chunks that are not due before HELD_UNTIL. Whoever lets them go moves that in one
guarded UPDATE, beside `went_on_at`: of any number of processes that try, one does.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import F, Q, Sum
from django.utils.translation import gettext_lazy as _

from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run

# Never due: nothing rings a chunk before its time.
HELD_UNTIL = datetime(9999, 1, 1, tzinfo=UTC)


class FirstPart(models.Model):
    """What came of those who went first, and may the rest go now?"""

    class Decision(models.TextChoices):
        GOOD = "good", _("good enough")
        PERSON = "person", _("a person decided")
        UNSURE = "unsure", _("good enough, and no variant was clearly better")

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="first_part"
    )
    devices = models.PositiveIntegerField()
    # When all of them had an outcome: the wait begins.
    sent_at = models.DateTimeField(null=True)
    # How many were known to tell what they receive, before the run began. Counted once, after
    # `sent_at`: a page that asks each second must not read so many rows.
    known = models.PositiveIntegerField(null=True)
    judged_at = models.DateTimeField(null=True)
    # As they were when somebody decided: what comes later is of the whole run.
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
        """To how many of the rest it goes now; 0: somebody was faster. In the caller's transaction,
        which holds the run. If the process dies here: nothing was decided."""
        mine = FirstPart.objects.filter(pk=self.pk, went_on_at=None)
        decided = {"decision": decision, "figures": figures, "went_on_at": now}
        if not mine.update(**decided):
            return 0
        for name, value in decided.items():
            setattr(self, name, value)
        held = Chunk.objects.filter(run=self.run_id, follows=True, not_before=HELD_UNTIL)
        people = held.aggregate(count=Sum(F("last_seq") - F("first_seq") + 1))["count"]
        held.filter(state=Chunk.State.WAITING).update(not_before=None)
        return people or 0


def ranges_of(chunks: models.QuerySet[Chunk]) -> list[range]:
    """Of the recipients' numbers; chunks that lie side by side are one."""
    found: list[range] = []
    for first, last in chunks.order_by("first_seq").values_list("first_seq", "last_seq"):
        if found and found[-1].stop == first:
            found[-1] = range(found[-1].start, last + 1)
        else:
            found.append(range(first, last + 1))
    return found


def part_of(run: Run) -> FirstPart | None:
    """A run without one costs no question."""
    if run.first_percent is None:
        return None
    return FirstPart.objects.select_related("run").filter(run=run.pk).first()


def held(run: Run) -> FirstPart | None:
    """Its first part, while the rest waits for it."""
    part = part_of(run)
    return part if part and part.went_on_at is None else None


def waited_since(run: Run, moment: datetime) -> bool:
    """Whether its rest waits, or did at some time since then: that nothing left is right."""
    part = part_of(run)
    return part is not None and (part.went_on_at is None or part.went_on_at > moment)
