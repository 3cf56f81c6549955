"""Forgetting: the recipients of an old run can be removed; its totals stay.

A run's recipients and deliveries are one partition each, so a million rows are removed by one DROP.
What FCM said without accepting, and what phones reported of them, goes with them, row by row; its
sums stay. What was said of one person goes with the person.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext, gettext_noop

from campaigns.audiences import rules
from campaigns.audiences.audience import Audience
from campaigns.audiences.behavior import past
from campaigns.audiences.bounds import AS_KEPT, leaves
from campaigns.audiences.resolving.runs_meant import asked_for
from campaigns.runs import prior_recipients, series
from campaigns.runs.ledger import Answer, drop_partition
from campaigns.runs.run import Run
from notifications.staff import audit

# What is kept of recipients beside their partitions.
OF_RECIPIENTS = (
    "campaigns_window",
    "campaigns_answer",
    "campaigns_receipt",
    "campaigns_touch",
    "campaigns_conversion",
)


def forgettable(finished_before: datetime, **narrower: Any) -> Any:
    """Finished runs whose rows still exist, oldest first."""
    ended = Run.kept.exclude(state=Run.State.OPEN).filter(
        finished_at__lt=finished_before, planned__isnull=False, forgotten_at=None
    )
    return ended.filter(**narrower).select_related("campaign", "project").order_by("pk")


def needed(project_id: int) -> set[int]:
    """The runs whose recipients are still needed: unfinished runs, the last one of each series, and
    those that rules cover, including rules of a list that is being filled. Without its recipients,
    “was not reached by run 7” would be everybody."""
    going_on = series.going_on(project_id)
    trees = [*_trees(project_id), *(run.rules for run in going_on)]
    named = {pk for tree in trees for sort, pk in rules.named_in(tree) if sort == "run"}
    asked = [leaf for tree in trees for leaf in leaves(tree) if leaf["field"] == past.FIELD]
    sound = [leaf["value"] for leaf in asked if not rules.problems(leaf, AS_KEPT)]
    meant = {pk for value in sound for pk in asked_for(project_id, value)}
    return named | meant | {run.pk for run in going_on}


def _trees(project_id: int) -> list[Any]:
    there = Audience.objects.filter(project=project_id)
    saved = there.filter(kind=Audience.Kind.RULES).values_list("rules", flat=True)
    filling: Any = there.exclude(filling=None).values_list("filling", flat=True)
    return [*saved, *(one["rules"] for one in filling if "rules" in one)]


def forget(run: Run, *, by: str, now: datetime) -> None:
    """Remove a run's recipients. Totals, reasons and chunks stay, and so do the pages of the
    result. Raises InvalidMove.

    If the process dies here: nothing was removed, or all of it.
    """
    with transaction.atomic():
        if run.pk in needed(run.project_id):
            raise Run.InvalidMove(gettext("Rules refer to it. Change or delete them first."))
        if run.kind == Run.Kind.CAMPAIGN:
            prior_recipients.index_whole(run)
        old = Run.kept.filter(pk=run.pk, forgotten_at=None, planned__isnull=False)
        if not old.filter(finished_at__isnull=False).update(forgotten_at=now):
            raise Run.InvalidMove(gettext("Its recipients are still needed, or already removed."))
        for table in ("campaigns_recipient", "campaigns_delivery"):
            drop_partition(table, run.pk)
        if run.kind == Run.Kind.MESSAGES:
            drop_partition("campaigns_message", run.pk)
        with connection.cursor() as cursor:
            for table in OF_RECIPIENTS:
                cursor.execute(f"DELETE FROM {table} WHERE run_id = %s", [run.pk])
        # A rehearsal has no page of a run to lead to.
        of_it: dict[str, Any] = {"rehearsal": run.pk} if run.is_rehearsal else {}
        audit.record(
            by, gettext_noop("removed the recipients of"), run.campaign if of_it else run,
            project=run.project, campaign=run.campaign.name if run.campaign else str(run), **of_it,
        )  # fmt: skip


def forget_answers(contact_ids: Sequence[int]) -> None:
    """Of people who are erased. A delivery stays, for the totals; it is no longer anybody's."""
    Answer.objects.filter(contact_id__in=contact_ids).delete()
