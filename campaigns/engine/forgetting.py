"""Who was in an old run can be forgotten; what came of it stays.

A run's recipients and deliveries are one partition each, so that a million rows go in one DROP.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext, gettext_noop

from campaigns.runs.ledger import drop_partition
from campaigns.runs.run import Run
from notifications.staff import audit


def forgettable(finished_before: datetime, **narrower: Any) -> Any:
    """Ended runs whose rows are still there, oldest first."""
    ended = Run.objects.filter(
        finished_at__lt=finished_before, planned__isnull=False, forgotten_at=None
    )
    return ended.filter(**narrower).select_related("campaign", "project").order_by("pk")


def forget(run: Run, *, by: str, now: datetime) -> None:
    """Totals, reasons and chunks stay, and with them every page of the result. Raises InvalidMove.

    If the process dies here: nothing was removed, or all of it.
    """
    with transaction.atomic():
        old = Run.objects.filter(pk=run.pk, forgotten_at=None, planned__isnull=False)
        if not old.filter(finished_at__isnull=False).update(forgotten_at=now):
            raise Run.InvalidMove(gettext("Its rows are needed, or gone already."))
        for table in ("campaigns_recipient", "campaigns_delivery"):
            drop_partition(table, run.pk)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM campaigns_window WHERE run_id = %s", [run.pk])
        audit.record(
            by, gettext_noop("forgot the recipients of"), run, project=run.project,
            campaign=run.campaign.name,
        )  # fmt: skip
