"""Forgetting: removes the recipients of an old run; its totals stay.

Recipients and deliveries of a run are one partition each, so one DROP removes a million rows.
FCM's answers other than acceptances and the phones' reports are deleted row by row; their sums
stay. If a person is erased, FCM's answers about that person are deleted too.
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
from campaigns.audiences.resolving.covered_runs import asked_for
from campaigns.runs import prior_recipients, series
from campaigns.runs.ledger import Answer, drop_partition
from campaigns.runs.run import Run
from notifications.staff import audit

# Tables with rows of recipients, besides their partitions.
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
    """The runs whose recipients are still needed.

    These are unfinished runs, the last run of each series that goes on, and runs that rules refer
    to, including rules of a list that is being filled. Without its recipients, “was not reached by
    run 7” would match everybody.
    """
    going_on = series.going_on(project_id)
    trees = [*_rule_trees(project_id), *(run.rules for run in going_on)]
    named = {pk for tree in trees for sort, pk in rules.named_in(tree) if sort == "run"}
    leaves_on_runs = [
        leaf for tree in trees for leaf in leaves(tree) if leaf["field"] == past.FIELD
    ]
    valid_values = [leaf["value"] for leaf in leaves_on_runs if not rules.problems(leaf, AS_KEPT)]
    asked_runs = {pk for value in valid_values for pk in asked_for(project_id, value)}
    return named | asked_runs | {run.pk for run in going_on}


def _rule_trees(project_id: int) -> list[Any]:
    audiences = Audience.objects.filter(project=project_id)
    saved = audiences.filter(kind=Audience.Kind.RULES).values_list("rules", flat=True)
    filling: Any = audiences.exclude(filling=None).values_list("filling", flat=True)
    return [*saved, *(filling_list["rules"] for filling_list in filling if "rules" in filling_list)]


def forget(run: Run, *, by: str, now: datetime) -> None:
    """Remove a run's recipients. Totals, reasons, chunks and result pages stay.

    Raises InvalidMove. If the process dies here: either nothing was removed, or everything.
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
        # A rehearsal has no run page to link to.
        of_it: dict[str, Any] = {"rehearsal": run.pk} if run.is_rehearsal else {}
        audit.record(
            by, gettext_noop("removed the recipients of"), run.campaign if of_it else run,
            project=run.project, campaign=run.campaign.name if run.campaign else str(run), **of_it,
        )  # fmt: skip


def forget_answers(contact_ids: Sequence[int]) -> None:
    """Delete FCM's answers about erased people. Their deliveries stay for the totals, without a
    person."""
    Answer.objects.filter(contact_id__in=contact_ids).delete()
