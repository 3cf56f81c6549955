"""Sums: a run's totals so far, added up from its chunks.

`results/reports.py` counts the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import models
from django.db.models import Sum

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run

STATUSES = Delivery.Status.values
# The last one is for runs that are split into variants: see `variants/group.py`.
CUT_BY = ("platform", "locale", "timezone", "app_version", "variant")


class Breakdown(models.Model):
    """A run's outcomes by kind of recipient. Counted once, when the run has ended, and kept."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="breakdown"
    )
    # The run's end when it was counted: a run that was reopened since is counted again.
    finished_at = models.DateTimeField()
    counted_through = models.IntegerField(default=0)  # the seq of the last recipient
    # {"platform": {"ios": [accepted, rejected, skipped, unknown], …}, …}; "" if it is not known.
    counts = models.JSONField(default=dict)
    # {"locale": […]}: the values past the bound of each kind.
    others = models.JSONField(default=dict)
    # How many recipients have a device that is known to report what becomes of a push, by the
    # earliest step it had reported: {"": {"3": 400}, "platform": {"ios": {"3": 150}}, …,
    # "through": the last counted}.
    reporting = models.JSONField(default=dict, db_default={})

    def __str__(self) -> str:
        return f"breakdown of run {self.run_id}"

    def is_of(self, run: Run) -> bool:
        """Whether it counts all recipients, up to the run's current end."""
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
        """Settled recipients without the skipped ones, who are never sent to."""
        return self.settled - self.skipped

    @property
    def waiting(self) -> int:
        return self.planned - self.settled

    @property
    def share(self) -> float:
        """The share of recipients that is settled, 0 to 1."""
        return self.settled / self.planned if self.planned else 1.0

    def as_dict(self) -> dict[str, int]:
        counts = {name: getattr(self, name) for name in STATUSES}
        return {"planned": self.planned, **counts, "waiting": self.waiting}


def without_skipped(planned: int, skipped: int) -> int:
    """How many recipients FCM is asked for: all without the skipped ones.

    The share of accepted ones is a share of these, on every page and for every run.
    """
    return planned - skipped


def of_how_many(state: str, planned: int, skipped: int) -> int:
    """The total to show beside the accepted ones.

    For a cancelled run these are all recipients, without a share: FCM may have accepted all that
    were sent, but the run is not complete.
    """
    return planned if state == Run.State.CANCELLED else without_skipped(planned, skipped)


def average_rate(sent: int, began: datetime, ended: datetime) -> float:
    """Recipients sent to per second: the one average of a run, on pages, in the API, and for the
    expected duration of the next run."""
    return sent / max((ended - began).total_seconds(), 1.0)


def totals_of(run: Run) -> Totals:
    return Totals(run.planned or 0, **sums_of(run))


def sums_of(run: Run) -> dict[str, int]:
    """The run's outcomes, added up from its chunks: 400 rows for 400,000 people.

    They are exact: chunks change in the same transaction as deliveries.
    """
    sums = run.chunks.aggregate(**{name: Sum(name) for name in STATUSES})
    return {name: sums[name] or 0 for name in STATUSES}
