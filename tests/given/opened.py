"""Runs whose phones have told who opened them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from campaigns.engagement.receipt import Event, Receipt, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown
from notifications.people.project import Project
from tests.given.builders import make_run
from tests.given.runs import ended


def opened(project: Project, *, count: int, days_ago: float = 2) -> Run:
    """To everybody of the project: all phones tell that they received it, so many that it was
    opened."""
    run = make_run(project)
    seqs = sorted(Recipient.objects.filter(run_id=run.pk).values_list("seq", flat=True))
    keep(Report(run.pk, seq, Event.RECEIVED, None) for seq in seqs)
    keep(Report(run.pk, seq, Event.OPENED, None) for seq in seqs[:count])
    ended(run)
    at = timezone.now() - timedelta(days=days_ago)
    Run.objects.filter(pk=run.pk).update(finished_at=at)
    Breakdown.objects.filter(run=run).update(finished_at=at)
    return run


def took(run: Run, seconds: Sequence[float]) -> None:
    """Those who opened it did so long after they got it, in this order."""
    told = Receipt.objects.filter(run_id=run.pk, event=Event.OPENED).order_by("seq")
    for one, after in zip(told, seconds, strict=True):
        got = Delivery.objects.get(run_id=run.pk, seq=one.seq)
        at = got.at + timedelta(seconds=after)
        Receipt.objects.filter(run_id=run.pk, seq=one.seq, event=Event.OPENED).update(at=at)
