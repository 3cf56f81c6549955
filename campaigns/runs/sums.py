"""Sums: what a run has come to so far, read off its chunks.

To count the rows themselves, ask `results/reports.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import models
from django.db.models import Sum

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run

STATUSES = Delivery.Status.values
# The last one is of runs that are split: see `variants/group.py`.
CUT_BY = ("platform", "locale", "timezone", "app_version", "variant")


class Breakdown(models.Model):
    """What came of the kinds of recipients? Counted once, when a run has ended, and kept."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="breakdown"
    )
    # The end that was counted: of a run that was opened again since, it is counted anew.
    finished_at = models.DateTimeField()
    counted_through = models.IntegerField(default=0)  # the last recipient
    # {"platform": {"ios": [accepted, rejected, skipped, unknown], …}, …}; "" where it is not known.
    counts = models.JSONField(default=dict)
    # {"locale": […]}: of the values past the bound of each.
    others = models.JSONField(default=dict)
    # How many of the recipients have a device that was known to tell what becomes of a push, by the
    # earliest step it had told of: {"": {"3": 400}, "platform": {"ios": {"3": 150}}, …, "through":
    # the last counted}.
    reporting = models.JSONField(default=dict, db_default={})

    def __str__(self) -> str:
        return f"breakdown of run {self.run_id}"

    def is_of(self, run: Run) -> bool:
        """Whether it is whole, and of the end that the run has now."""
        return self.finished_at == run.finished_at and self.counted_through >= (run.planned or 0)


@dataclass(frozen=True)
class Totals:
    """planned = accepted + rejected + skipped + unknown + waiting, always."""

    planned: int
    accepted: int
    rejected: int
    skipped: int
    unknown: int

    @property
    def settled(self) -> int:
        return self.accepted + self.rejected + self.skipped + self.unknown

    @property
    def sent(self) -> int:
        """Whoever is skipped is never sent to."""
        return self.settled - self.skipped

    @property
    def waiting(self) -> int:
        return self.planned - self.settled

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return self.settled / self.planned if self.planned else 1.0

    def as_dict(self) -> dict[str, int]:
        counts = {name: getattr(self, name) for name in STATUSES}
        return {"planned": self.planned, **counts, "waiting": self.waiting}


def asked(planned: int, skipped: int) -> int:
    """How many FCM is asked for: whoever is skipped is not sent to, for whatever reason, so the
    share of the accepted is of these, on every page and of every run."""
    return planned - skipped


def of_how_many(state: str, planned: int, skipped: int) -> int:
    """Beside how many were accepted. Of a cancelled run it is all of them, and no share stands
    beside: of those it still asked FCM for, all may be accepted, and it is not whole for that."""
    return planned if state == Run.State.CANCELLED else asked(planned, skipped)


def average_rate(sent: int, began: datetime, ended: datetime) -> float:
    """Recipients sent to, a second: the one average of a run, on every page, for programs, and for
    what the next one is said to take."""
    return sent / max((ended - began).total_seconds(), 1.0)


def totals_of(run: Run) -> Totals:
    return Totals(run.planned or 0, **sums_of(run))


def sums_of(run: Run) -> dict[str, int]:
    """Of the chunks: 400 rows for 400,000 people, exact as they move with the deliveries."""
    sums = run.chunks.aggregate(**{name: Sum(name) for name in STATUSES})
    return {name: sums[name] or 0 for name in STATUSES}
